"""The log of plans: each is a file named by its content, so that what is read is what was written.

A plan that follows another is written as what changed, and now and then as a whole.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from thalweg.plan.change import PlanChange, applied, change_of
from thalweg.plan.codec import dumps, loads
from thalweg.plan.members import with_sets, without_sets
from thalweg.plan.nodes import Plan
from thalweg.state.checks import damaged, digest, missing
from thalweg.state.local import LocalStore
from thalweg.state.store import Missing, Store, Taken

LONGEST = 16
"""Changes that are written before a plan is written as a whole again."""


class PlanLog:
    """The plans of a session directory. `chain` are the files that the last of them is read from, the whole one first."""

    def __init__(self, store: Store, root: str = "plans") -> None:
        self.store, self.root = store, root
        self.chain: tuple[str, ...] = ()
        self._last = Plan()

    def read(self, name: str) -> Plan:
        """The plan of a name, which the next one follows."""
        chain, at = [name], _content(self.store, name, self.root)
        changes = []
        while isinstance(at, PlanChange):
            changes.append(at)
            chain.append(at.base)
            at = _content(self.store, at.base, self.root)
        for change in reversed(changes):
            at = applied(at, change)
        self._last, self.chain = at, tuple(reversed(chain))
        return with_sets(at)

    def write(self, plan: Plan, batch: int) -> str:
        """Log the plan that follows the last; returns its name. What is there under that name already is the same plan."""
        follows, plan = bool(self.chain) and len(self.chain) < LONGEST, without_sets(plan)
        written = change_of(self.chain[-1], self._last, plan) if follows else plan
        text = dumps(written).encode()
        name = f"{batch:012d}-{digest(text)}.json"
        try:
            self.store.put(name, text)
        except Taken:
            _content(self.store, name, self.root)
        # The next change is told from what a reader makes of this one: its parts may stand in another order than in the plan itself.
        self._last = applied(self._last, written) if isinstance(written, PlanChange) else plan
        self.chain = (*self.chain, name) if follows else (name,)
        return name

    def forget(self) -> None:
        """Remove the plans that the last one doesn't need."""
        for name in self.store.list():
            if name not in self.chain:
                self.store.delete(name)


def _content(store: Store, name: str, root: str) -> Plan | PlanChange:
    """What a file says, if its name fits it; `root` is what an error says before the name."""
    where = f"{root}/{name}"
    try:
        text = store.get(name).to_pybytes()
    except Missing:
        raise missing(where, "plan file") from None
    if name != f"{name[:13]}{digest(text)}.json":
        raise damaged(where, "its digest is not the one in its name")
    try:
        found: Plan | PlanChange = loads(text.decode())
        return found
    except (ValueError, KeyError, TypeError) as e:
        raise damaged(where, f"no plan: {e}") from e


def plan_at(path: Path) -> Plan:
    """The plan in a file."""
    content = _content(LocalStore(path.parent), path.name, str(path.parent))
    return with_sets(
        applied(known_plan(path.parent / content.base), content)
        if isinstance(content, PlanChange)
        else content
    )


@lru_cache(maxsize=4)
def known_plan(path: Path) -> Plan:
    """A plan that others follow, read once: the file of a name never has another content."""
    return plan_at(path)
