"""What the scenarios of queries that come and go consist of, without running them."""

from __future__ import annotations

from pathlib import Path

from benchmarks.adhoc_scenarios import (
    COMPONENTS,
    LATENCIES,
    THRESHOLDS,
    Scenario,
    Seen,
    Site,
    scenarios,
    table,
)

from thalweg.model.settings import Config, with_setting


def test_all_rates_and_ways() -> None:
    found = list(scenarios((2, 3, 4, 5), is_quick=False))
    assert len(found) == 24 and {s.name for s in found} == {"SC1", "SC2"}
    assert {(s.rate, s.live) for s in found} == {(1.0, 20), (10.0, 100), (100.0, 500)}
    assert list(scenarios((2,), is_quick=True)) == [
        Scenario("SC1", 2, 100, 10.0, drops=False),
        Scenario("SC2", 2, 100, 10.0, drops=True),
    ]


def test_what_a_deployment_consists_of() -> None:
    seen = Seen(event=[5.0, 7.0, 9.0], deployed=[100.0], accepted=[10.0], planned=[20.0], batch=[30.0])
    assert seen.cells() == ["7", "9", "100", "100", "10", "20", "30", "40"]
    assert len(table("t", ("",), LATENCIES, [("a", seen.cells())]).columns) == 1 + len(LATENCIES)
    assert Seen().cells()[0] == "nan"


def test_settings_are_settings() -> None:
    for settings in (*COMPONENTS.values(), *({"scale.latency": t} for t in THRESHOLDS)):
        for key, value in settings.items():
            assert with_setting(Config(), key, value) is not None


def test_a_site_has_files_and_queries_of_the_template(tmp_path: Path) -> None:
    site = Site(tmp_path, 3, {}, events=60)
    site.put()
    assert len(site.streams) == 6 and site.waiting[0][0] == 60
    assert all(len(list((tmp_path / name).glob("*"))) == 1 for name in site.streams)
    site.create()
    site.create()
    site.drop()
    assert [h.name for h in site.alive] == ["q2"] and len(site.seen.accepted) == 3
    assert list(site.session.catalog.queries) == ["q2"]
    site.session.close()
