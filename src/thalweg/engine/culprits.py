"""Which of several queries makes a batch fail, found by trying."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from thalweg.engine.blame import Blamed

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
