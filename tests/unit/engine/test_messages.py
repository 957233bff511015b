"""What driver and tasks tell each other survives JSON whole, and so do errors."""

from __future__ import annotations

import pytest

from thalweg.engine.task import (
    Control,
    Handover,
    Made,
    Notes,
    Report,
    Result,
    SideCount,
    StreamFacts,
    Task,
    Trouble,
    trouble,
)
from thalweg.errors import DataError, EnvironmentProblem, InternalError, StateError
from thalweg.state.manifest import SetAside, StateFile, StepTime
from thalweg.state.records import dumps, loads

TASK = Task(
    3,
    2,
    "p.json",
    None,
    "state",
    {"q": "out", "late:s": "late"},
    {"s": None},
    {"s": 5},
    ("r",),
    readable=("in",),
)
ASIDE = SetAside("s", "bad.csv", "is no BIGINT", "row 2", "v", "1.5"), SetAside("s", "gone.csv", "it is gone")
STAGED = ("late:s", "late.parquet"), ("bad:s", "bad.parquet")
FACTS = StreamFacts(
    9, 1, 0, 7, {"q": 1}, STAGED, 1, 1, ASIDE, {"f": Made(4, 2)}, {"side": (SideCount(9, 8, 7, (6,)),)}
)
CONTROL = Control(
    {"s": FACTS, "r": StreamFacts()}, {"scan s": StepTime(9, 0.25)}, Trouble("DataError", "bad", "mend it")
)
REPORT = Report(
    1,
    (CONTROL,),
    (StateFile("f", "x.arrow", 0, 2, -1, 5, 4, 100, 77),),
    ("old",),
    (Result("q", "a.parquet", 3),),
    {"emit q": StepTime(3, 1.5)},
)


@pytest.mark.parametrize(
    "message",
    [TASK, CONTROL, REPORT, Handover(REPORT, {"s": None, "r": 3}), Report()],
    ids=lambda m: type(m).__name__,
)
def test_messages_survive_json(message: object) -> None:
    assert loads(type(message), dumps(message)) == message


def test_notes_go_on_from_a_report() -> None:
    notes = Notes.of(REPORT)
    assert notes.report() == REPORT and REPORT.failed
    notes.time("emit q", 2, 0.001)
    notes.results.append(Result("q", "b.parquet", 2))
    assert notes.report().steps["emit q"] == StepTime(5, 2.5)
    assert [r.staged for r in notes.report().results] == ["a.parquet", "b.parquet"]
    assert len(REPORT.results) == 1


@pytest.mark.parametrize(
    "error",
    [DataError("x.csv: bad", "mend it"), StateError("s: damaged"), EnvironmentProblem("full", "free some")],
)
def test_errors_cross_with_their_hint(error: DataError) -> None:
    found = loads(Trouble, dumps(trouble(error))).error
    assert (type(found), found.message, found.hint) == (type(error), error.message, error.hint)


def test_what_is_not_ours_is_a_defect() -> None:
    found = trouble(ValueError("x")).error
    assert type(found) is InternalError and found.message == "ValueError: x"
