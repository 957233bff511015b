"""`thalweg calibrate`: what a unit of work costs on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict

from thalweg.cli.screen import Screen
from thalweg.engine.kernel.calibration import measure
from thalweg.engine.kernel.window_calibration import measure_windows
from thalweg.optimizer.cost.calibration import JoinConstants
from thalweg.statistics.constants import WINDOWS, in_updates, save

WHAT = {
    "project": "choose a row and keep its columns",
    "lift": "add a row to a group that is there",
    "ship": "send a kept row and write it as state",
    "copy": "put a row into a window",
    "group": "add a row that makes a group",
    "build": "put a row into a hash table",
    "probe": "look a row up in a hash table",
    "pair": "make a joined row and add it to its group",
    "weigh": "do so with parts of an aggregation set, as often as it has rows",
    "compare": "look at a pair in nested loops",
    "step": "run a statement",
}


OF_WINDOWS = {
    "row": "add a row to an instance of a window",
    "combine": "read a row of an instance to combine it",
    "total": "add one to a running total",
    "exchange": "send one to where it is combined",
    "value": "move a value of a holistic aggregate",
    "step": "run a step of a plan of windows",
    "edge": "look for the last of some edges before a row",
    "opened": "have a derived window at hand for others in a batch",
    "state": "keep a row of an instance from a batch to the next",
}


def calibrate_machine(as_json: bool) -> None:
    """Measure, keep, show."""
    screen = Screen()
    say = None if as_json else screen
    joins, windows = _measured(measure(), WHAT, say), _measured(measure_windows(), OF_WINDOWS, say)
    constants, of_windows = JoinConstants(**joins), in_updates(windows)
    path = save(constants, of_windows)
    if as_json:
        screen.say(json.dumps({**asdict(constants), WINDOWS: asdict(of_windows)}))
    else:
        screen.say(f"kept in {path}; sessions on this machine plan by it from now on")


def _measured(
    found: Iterable[tuple[str, float]], what: Mapping[str, str], screen: Screen | None
) -> dict[str, float]:
    """What is measured, shown as it comes."""
    kept = {}
    for name, nanos in found:
        kept[name] = round(nanos, 2)
        if screen is not None:
            screen.say(f"{kept[name]:>16,.1f} ns  {what[name]} ({name})")
    return kept
