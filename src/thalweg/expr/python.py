"""A Python function that queries may call."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.expr.nodes import PYTHON, Call, Expr
from thalweg.expr.types import spoken


@dataclass(frozen=True)
class Function:
    """What a name in SQL stands for: types of parameters and of the result, and a callable over Arrow arrays.

    `digest` is that of the file in which the session keeps the callable; `identity` is that of what it does, and equal for one that a
    script makes again, whatever the file says.
    """

    name: str
    parameters: tuple[str, ...]
    result: str
    identity: str
    digest: str

    def called(self, args: tuple[Expr, ...]) -> Call:
        """The call of arguments that have the types of the parameters."""
        return Call(PYTHON, args, self.result, (self.name, self.digest))

    @property
    def signature(self) -> str:
        """Its types, as it is declared with them.

        >>> Function("f", ("BIGINT", "VARCHAR"), "DOUBLE", "", "").signature
        'BIGINT, STRING -> DOUBLE'
        """
        return f"{', '.join(map(spoken, self.parameters))} -> {spoken(self.result)}"

    def is_same(self, other: Function) -> bool:
        """Whether both do the same under one name."""
        return (self.name, self.parameters, self.result, self.identity) == (
            other.name,
            other.parameters,
            other.result,
            other.identity,
        )


def known_as(name: str, digest: str) -> str:
    """What the engine calls a function: by other names those that are not the same."""
    return f"{name}:{digest[:16]}"


def functions_in(value: object) -> frozenset[tuple[str, str]]:
    """The Python functions, by name and digest, that any value of the model calls."""
    if isinstance(value, Expr):
        return value.functions
    if isinstance(value, tuple):
        return frozenset().union(*map(functions_in, value)) if value else frozenset()
    fields = getattr(value, "__dataclass_fields__", None)
    return (
        frozenset().union(*(functions_in(getattr(value, name)) for name in fields)) if fields else frozenset()
    )
