"""Joins are planned by how frequent values truly are, and by what steps truly made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from skewed_support import Draw, Fed, even, hot, zipf

from thalweg.optimizer.cost.matching import Matching, evened
from thalweg.statistics.records import Values
from thalweg.testing.comparison import compare

WINDOW = "[RANGE 10 SECONDS]"
TWO = f"SELECT a.g, COUNT(*) AS n, SUM(b.x) AS s FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k GROUP BY a.g EVERY 5 SECONDS"
THREE = f"SELECT a.g, COUNT(*) AS n FROM a {WINDOW}, b {WINDOW}, c {WINDOW} WHERE {{}} GROUP BY a.g EVERY 5 SECONDS"
CHAIN, STAR = "a.k = b.k AND b.j = c.j", "a.k = b.k AND a.k = c.k"
LATE = "SET plan.early_aggregation = 'LAP'; SET plan.evaluate = 'snapshot';"


@pytest.mark.parametrize(
    ("streams", "where", "rate"),
    [
        ({n: {"k": hot(1_000)} for n in "ab"}, "a.k = b.k", 200),
        ({n: {"k": zipf(1_000)} for n in "ab"}, "a.k = b.k", 200),
        ({"a": {"k": zipf(1_000)}, "b": {"k": even(1_000)}}, "a.k = b.k", 200),
        ({"a": {"k": even(4)}, "b": {"k": even(4), "j": even(400)}, "c": {"j": even(400)}}, CHAIN, 60),
        ({"a": {"k": hot(50)}, "b": {"k": hot(50), "j": zipf(400)}, "c": {"j": zipf(400)}}, CHAIN, 30),
        ({n: {"k": hot(300, 0.2)} for n in "abc"}, STAR, 30),
        ({n: {"k": zipf(300)} for n in "abc"}, STAR, 30),
    ],
    ids=["hot", "zipf", "zipf and even", "chain", "chain of hot and zipf", "star of hot", "star of zipf"],
)
def test_joined_rows_are_foreseen_within_a_factor_of_two(
    tmp_path: Path, streams: dict[str, Draw], where: str, rate: int
) -> None:
    fed = Fed(tmp_path, streams, TWO if len(streams) == 2 else THREE.format(where), rate, settings=LATE)
    fed.batch(4)
    true = fed.truth(f"SELECT count(*) FROM {', '.join(streams)} WHERE {where}", 10) / 5
    assert true / 2 < fed.predicted("LAP snapshot") < true * 2
    assert 0.8 < fed.counted / 5 / true < 1.25, "and steps say how many they made"
    compare(fed.session.handle("q").results(), fed.definition())
    assert not fed.are_pairs_off


def test_a_value_that_becomes_frequent_changes_the_plan_at_once(tmp_path: Path) -> None:
    """Nothing is looked at by itself between the fifth and the 32nd batch, and values are counted in the eighth alone. There is always an
    exchange, or so few rows would be aggregated early to save it."""
    settings = "SET plan.exchange = 'always';"
    fed = Fed(tmp_path, {n: {"k": even(50_000)} for n in "ab"}, TWO, rate=400, settings=settings)
    fed.batch(6)
    assert fed.plan == "00 snapshot" and not fed.are_pairs_off
    fed.streams = {n: {"k": hot(50_000, 0.5)} for n in "ab"}
    fed.until_early(most=5)
    fed.batch(3)
    assert not fed.are_pairs_off
    assert fed.counted < fed.truth("SELECT count(*) FROM a, b WHERE a.k = b.k", 10) / 10
    compare(fed.session.handle("q").results(), fed.definition())


def test_what_no_statistics_say_is_learned_from_what_steps_made(tmp_path: Path) -> None:
    """A condition on the joined row that lets all through, where it is taken to let one in three; and one that lets few."""
    for name, condition in (("all", "a.x + b.x >= 0"), ("few", "a.x * b.x = 0")):
        (tmp_path / name).mkdir()
        fed = Fed(
            tmp_path / name,
            {n: {"k": even(20)} for n in "ab"},
            TWO.replace("a.k = b.k", f"a.k = b.k AND {condition}"),
            settings=LATE,
        )
        fed.batch(6)
        true = fed.truth(f"SELECT count(*) FROM a, b WHERE a.k = b.k AND {condition}", 10) / 5
        assert true / 2 < fed.predicted("LAP snapshot") < true * 2, name


def test_explain_says_which_values_are_frequent_and_what_is_furthest_off(tmp_path: Path) -> None:
    fed = Fed(tmp_path, {n: {"k": hot(200)} for n in "ab"}, TWO, settings=LATE)
    fed.batch(4)
    found = fed.session.explain(analyze=True)
    (join,) = found.data["joins"]
    for given in join["inputs"]:
        (equated,) = given["equated"]
        assert equated["columns"] == ['"k"'] and equated["origin"] == "measured"
        assert equated["frequent"] == [pytest.approx(0.3, abs=0.05)] and equated["values"] == pytest.approx(
            200, rel=0.2
        )
    lines = found.text.splitlines()
    assert any(" values, one in " in line and line.strip().startswith("k: ") for line in lines)
    measured, expected = next(line.split()[2:4] for line in lines if line.startswith("  joined rows"))
    assert 0.5 < _value(measured) / _value(expected) < 2


def _value(text: str) -> float:
    return float(text.replace(",", "").replace("k", "e3").replace("M", "e6"))


def test_frequent_values_of_three_inputs() -> None:
    """The sum over all values of the product of their shares."""
    random = np.random.default_rng(3)
    for _ in range(20):
        drawn = [zipf(40) * random.lognormal(0, 0.5, 40) for _ in range(3)]
        shares = [d / d.sum() for d in drawn]
        values = {
            n: Values(40, tuple((int(v), float(s[v])) for v in np.argsort(-s)[:16]))
            for n, s in enumerate(shares)
        }
        found = Matching(values, {}).share(frozenset(range(3)))
        true = float((shares[0] * shares[1] * shares[2]).sum())
        assert true / 2 < found < true * 2


def test_aggregation_sets_have_no_frequent_values() -> None:
    values = Values(100, ((1, 0.4), (2, 0.2)))
    both = Matching({0: evened(values, 1_000), 1: evened(values, 1_000)}, {})
    assert both.share(frozenset({0, 1})) == pytest.approx(1 / 100)


def test_settings_without_effect_are_said_and_other_plans_listed(tmp_path: Path) -> None:
    settings = "SET plan.invalidate = 'probe'; SET plan.order = 'written';"
    fed = Fed(tmp_path, {n: {} for n in "ab"}, TWO, settings=settings)
    rows = f"CREATE QUERY r AS SELECT a.x, b.x AS y FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k"
    fed.session.sql(f"SET plan.evaluate = 'delta'; {rows};")
    found = fed.session.explain()
    said = {j["query"]: j["without_effect"] for j in found.data["joins"]}
    order = "plan.order = written has no effect: two inputs have one order"
    assert said["q"] == ["plan.invalidate = probe has no effect: aggregates over joins forget by slot", order]
    assert said["r"] == ["plan.evaluate = delta has no effect: joined rows have one evaluation", order]
    assert order in found.text and "by hash they cost " in found.text
    joins = {j["query"]: j for j in found.data["joins"]}
    hash_join, loop = sorted(joins["r"]["plans"], key=lambda p: str(p["method"]))
    assert (
        (hash_join["method"], loop["method"]) == ("hash", "loop")
        and hash_join["work_ms"] < loop["work_ms"]
        and loop["state_rows"] > 0
    )
    fed.session.sql("SET plan.evaluate = 'best'")
    plans = [p["name"] for j in fed.session.explain().data["joins"] if j["query"] == "q" for p in j["plans"]]
    assert any("materialize" in p for p in plans)
