"""The ways to evaluate a join, one file each."""

from thalweg.compile.evaluations.base import Evaluation
from thalweg.compile.evaluations.delta import DELTA
from thalweg.compile.evaluations.expiry import EXPIRY
from thalweg.compile.evaluations.materialize import MATERIALIZE
from thalweg.compile.evaluations.rows import ROWS
from thalweg.compile.evaluations.snapshot import SNAPSHOT

EVALUATIONS: dict[str, Evaluation] = {e.name: e for e in (ROWS, SNAPSHOT, DELTA, EXPIRY, MATERIALIZE)}

__all__ = ["EVALUATIONS", "Evaluation"]
