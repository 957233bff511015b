"""Named points of a batch's commit at which a test can make the process fail."""

from __future__ import annotations

POINTS = (
    "ingest:start",
    "ingest:before-late-rows",
    "ingest:after-late-rows",
    "ingest:before-bad-rows",
    "ingest:after-bad-rows",
    "work:start",
    "work:before-state",
    "work:after-state",
    "work:before-results",
    "work:after-results",
    "finish:before-results",
    "finish:after-results",
    "driver:before-job",
    "driver:after-job",
    "driver:before-plan",
    "driver:after-plan",
    "driver:before-manifest",
    "driver:after-manifest",
    "driver:before-publish",
    "driver:during-publish",
    "driver:after-publish",
    "driver:before-cleanup",
    "driver:after-cleanup",
)


class Aborted(Exception):
    """Stands for a crash: nothing may clean up after it."""


def reach(point: str, armed: str | None) -> None:
    """Fail here if this point is armed."""
    assert point in POINTS, point
    if armed == point:
        raise Aborted(point)
