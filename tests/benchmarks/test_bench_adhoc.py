"""The soak of queries that come and go, small: all changes come into force, and the figures are there."""

from __future__ import annotations

from pathlib import Path

from benchmarks.adhoc import QUARTERS, Feed, run_local, share, table

from thalweg.testing.crowd import check_lives


def test_a_few_changes(tmp_path: Path) -> None:
    feed = Feed(tmp_path, 20)
    session, changer, watch = run_local(tmp_path, feed, changes=24, rate=100, live=4)
    assert changer.error is None and not changer.asked and changer.done == 24
    assert (
        12 <= sum(len(q.force_ms) for q in watch.quarters) <= 24
        and sum(len(q.batch_ms) for q in watch.quarters) == len(feed.fed) - 1
    )
    assert watch.quarters[-1].files > 0 and watch.quarters[-1].memory_mb > 10
    assert len(table(watch).rows) == QUARTERS
    assert (
        check_lives([h for h in changer.handles if h.epoch is not None], session.catalog.streams, feed.fed)
        >= 0
    )
    assert len(session.catalog.queries) <= 5
    session.close()


def test_shares() -> None:
    assert share([float(i) for i in range(100)], 0.99) == 99.0 and share([3.0], 0.5) == 3.0
