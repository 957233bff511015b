"""Which of several queries makes a batch fail, found by trying; and what is written down of one that is stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from thalweg.engine.blame import Blamed
from thalweg.engine.mishaps import mishap
from thalweg.engine.workload import Workload
from thalweg.model.query import Query
from thalweg.model.recorded import Failure
from thalweg.state.manifest import Counts, Manifest
from thalweg.state.runs import now_text

Fails = Callable[[Sequence[str], Sequence[str]], Blamed | None]


def culprits(blamed: Blamed, fails: Fails) -> dict[str, Exception]:
    """The queries to be stopped, with what each of them did.

    `fails(kept, suspects)` says how the batch fails where of the suspects only some are kept. Halves are tried by themselves, so one of
    sixty-four is found by twelve trials; where none fails without the others, all are stopped.
    """
    return _among(blamed, blamed.queries, fails)


def _among(blamed: Blamed, suspects: Sequence[str], fails: Fails) -> dict[str, Exception]:
    names = blamed.queries
    if len(names) == 1:
        return {names[0]: blamed.error}
    found: dict[str, Exception] = {}
    middle = len(names) // 2
    for half in (names[:middle], names[middle:]):
        again = fails(half, suspects)
        if again is None:
            continue
        if not set(again.queries) & set(suspects):
            return culprits(again, fails)
        found |= _among(Blamed(again.error, [n for n in half if n in again.queries] or half), suspects, fails)
    return found or dict.fromkeys(names, blamed.error)


def failure_of(
    query: Query, workload: Workload, batch: int, manifest: Manifest | None, error: Exception
) -> Failure:
    """What is written down of a query that is stopped from a batch on, and has given what a manifest says."""
    said, counts = mishap(error), {} if manifest is None else manifest.queries
    return Failure(
        query,
        workload.outputs[query.name],
        batch,
        now_text(),
        counts.get(query.name, Counts()).rows,
        type(said).__name__,
        said.message,
        said.hint,
    )
