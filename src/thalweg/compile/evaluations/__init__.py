"""The ways to evaluate a join, one file each, which defines its `Evaluation` under the file's name in capitals."""

from importlib import import_module

from thalweg.compile.evaluations.base import Evaluation
from thalweg.model.settings import EVALUATIONS as NAMES


def _defined(name: str) -> Evaluation:
    made: Evaluation = getattr(import_module(f"{__name__}.{name}"), name.upper())
    return made


EVALUATIONS: dict[str, Evaluation] = {
    name: _defined(name) for name in ("rows", "running", "landmark", *NAMES)
}

__all__ = ["EVALUATIONS", "Evaluation"]
