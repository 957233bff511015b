"""The frame of a call with OVER: which rows before a row count."""

from __future__ import annotations

from sqlglot import exp

from thalweg.model.first_rows import MOST
from thalweg.model.running import RANGE, ROWS, Frame
from thalweg.sql.builder import unwrapped
from thalweg.sql.nodes import Duration
from thalweg.sql.source import Source
from thalweg.sql.windows import fixed_length

_HINT = "write ROWS BETWEEN 10 PRECEDING AND CURRENT ROW, or RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW"


def bind_frame(source: Source, call: exp.Window) -> Frame:
    """The frame that a call names: without one all rows up to its event time, as in SQL."""
    spec = call.args.get("spec")
    if spec is None:
        return Frame(RANGE)
    kind, start, end = str(spec.args["kind"]).upper(), spec.args.get("start"), spec.args.get("end")
    later = "FOLLOWING" in (spec.args.get("start_side"), spec.args.get("end_side"))
    if later or end not in (None, "CURRENT ROW") or spec.args.get("exclude"):
        message = "a frame with later rows" if later else "a frame that ends before its row"
        hint = "LEAD is what looks at a later row" if later else _HINT
        raise source.at(call, f"{message} is not supported", hint)
    if kind not in ("ROWS", "RANGE"):
        raise source.at(call, f"a frame of {kind} is not supported", _HINT)
    return Frame(ROWS if kind == "ROWS" else RANGE, _length(source, call, kind, start))


def _length(source: Source, call: exp.Window, kind: str, start: object) -> int | None:
    """How far a frame reaches back; None where it has all rows."""
    if start == "UNBOUNDED":
        return None
    if start == "CURRENT ROW":
        return 0
    if kind == "ROWS" and isinstance(start, exp.Expr):
        return row_count(source, start, "the length of a frame of ROWS")
    if isinstance(start, Duration):
        return fixed_length(source, start, "the length of a frame")
    raise source.at(call, "the length of a frame of RANGE is an interval", _HINT)


def row_count(source: Source, node: exp.Expr, what: str) -> int:
    """A number of rows."""
    node = unwrapped(node)
    if (
        not isinstance(node, exp.Literal)
        or node.is_string
        or not node.name.isdecimal()
        or int(node.name) > MOST
    ):
        raise source.at(node, f"{what} is a number up to {MOST:,}", "write such as 10")
    return int(node.name)
