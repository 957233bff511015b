"""`thalweg calibrate`: what a unit of work costs on this machine."""

from __future__ import annotations

import json
from dataclasses import asdict

from thalweg.cli.screen import Screen
from thalweg.engine.kernel.calibration import measure
from thalweg.optimizer.cost.calibration import JoinConstants
from thalweg.statistics.constants import save

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


def calibrate_machine(as_json: bool) -> None:
    """Measure, keep, show."""
    screen = Screen()
    found = {}
    for name, nanos in measure():
        found[name] = round(nanos, 2)
        if not as_json:
            screen.say(f"{found[name]:>16,.1f} ns  {WHAT[name]} ({name})")
    constants = JoinConstants(**found)
    path = save(constants)
    if as_json:
        screen.say(json.dumps(asdict(constants)))
    else:
        screen.say(f"kept in {path}; sessions on this machine plan by it from now on")
