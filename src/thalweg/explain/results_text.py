"""What is emitted from where: measured results, queries that begin in mid-stream, and plans that replace each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from thalweg.explain.model import PlanView, Result
from thalweg.explain.words import counted, joined, listed, moment, number


def result_lines(view: PlanView) -> Iterator[str]:
    """What each query emitted in the last batch, and what was read of each stream."""
    if view.emitted is None or view.scanned is None:
        return
    ran_as = {q: names[0] for names in view.alike for q in names}
    rows = [(f"scan {n}", "", *t) for n, t in view.scanned.items()]
    rows += [
        (f"emit {q}", _windows_inside(view, q), *view.emitted.get(ran_as[q], (0, 0.0)))
        for q in view.windowed
        if q == view.leaders[q]
    ]
    names = max((len(r[0]) for r in rows), default=0)
    yield f"{f'batch {view.batch}':<{names}}{'rows':>12}{'ms':>10}"
    for name, inside, count, millis in rows:
        yield f"{name:<{names}}{number(count):>12}{number(millis):>10}{inside}"


def _windows_inside(view: PlanView, query: str) -> str:
    inside = {str(s.window): None for g in view.groups for s in g.steps if s.inside and query in s.given}
    return f"   with {listed(list(inside), 60)}" if inside else ""


def switch_lines(view: PlanView) -> Iterator[str]:
    """Results that begin in mid-stream, and those that another plan takes over from."""
    places = {(r.emission.query, r.emission.window_id) for r in view.ending}
    fresh = [r.emission for r in view.results if r.emission.begin is not None and _place(r) not in places]
    for (query, begin), count in Counter((e.query, e.begin) for e in fresh).items():
        yield f"{query} begins in mid-stream: {counted(count, 'window')} with instances from {moment(begin or 0)} on"
    for until in dict.fromkeys(r.emission.until for r in view.ending):
        yield f"switch in progress: instances that start from {moment(until or 0)} on are computed in another way"
        yield from (f"  {_handed_over(view, r)}" for r in view.ending if r.emission.until == until)


def _handed_over(view: PlanView, old: Result) -> str:
    """What a result is computed from before a switch and after it."""
    heirs = [r for r in view.results if _place(r) == _place(old) and r.emission.begin == old.emission.until]
    after = f", then {joined([_origin(view, r) for r in heirs])}" if heirs else ""
    return f"{old.emission.query} {old.emission.window_id}: {_origin(view, old)}{after}"


def _place(result: Result) -> tuple[str, str]:
    return result.emission.query, result.emission.window_id


def _origin(view: PlanView, result: Result) -> str:
    """What a result is computed from."""
    steps = {s.id: s for g in view.groups for s in g.steps}
    sources = [steps[id].source for id in result.emission.nodes if id in steps]
    return joined(dict.fromkeys("from rows" if s is None else f"from {steps[s].window}" for s in sources))
