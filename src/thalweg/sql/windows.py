"""The windows of a query, out of GROUP BY."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from thalweg.model.stream import Stream
from thalweg.model.windows import NamedWindow, Window, default_id, session
from thalweg.sql.builder import unwrapped
from thalweg.sql.nodes import WindowCall, WindowSet
from thalweg.sql.source import Source, suggestion

NO_WINDOW_HINT = "add a window to GROUP BY, such as TUMBLE '1 minute'"


def is_window(node: exp.Expr) -> bool:
    """Whether an item of GROUP BY is a window or several."""
    return isinstance(node, WindowCall | WindowSet)


def bind_windows(source: Source, items: Iterable[exp.Expr], stream: Stream) -> tuple[NamedWindow, ...]:
    """The windows of the items of GROUP BY that are windows."""
    calls = [c for item in items for c in _calls(item)]
    windows: dict[str, NamedWindow] = {}
    for call in calls:
        window = bind_window(source, call, stream)
        id_ = call.args.get("id") or default_id(window)
        if id_ in windows:
            raise source.at(call, f"window id {id_!r} is given twice", "give each window its own id with AS")
        windows[id_] = NamedWindow(id_, window)
    return tuple(windows.values())


def bind_window(source: Source, call: exp.Expr, stream: Stream) -> Window:
    """The window that a call names."""
    time = unwrapped(call.args["time"]) if call.args.get("time") is not None else None
    if time is not None and (not isinstance(time, exp.Column) or time.name.lower() != stream.time.lower()):
        written = source.written(time)
        raise source.at(
            time,
            f"windows are of the event time {stream.time}, not of {written}",
            f"write window({stream.time}, ...)",
        )
    if call.args.get("session"):
        return session(fixed_length(source, call.args["range"], "the gap of a session"))
    range_ = fixed_length(source, call.args["range"], "the range of a window")
    slide = (
        fixed_length(source, call.args["slide"], "the slide of a window")
        if call.args.get("slide")
        else range_
    )
    offset = fixed_length(source, call.args["offset"]) if call.args.get("offset") else 0
    return Window(range_, slide, offset)


def check_time(source: Source, time: exp.Expr, stream: Stream) -> None:
    """TIMESTAMP BY must name the stream's event time."""
    if not isinstance(time, exp.Column) or time.name.lower() != stream.time.lower():
        hint = suggestion(time.name, [stream.time], f"the event time of {stream.name} is")
        raise source.at(time, f"{source.written(time)} is not the event time of {stream.name}", hint)


def fixed_length(source: Source, duration: exp.Expr, positive: str | None = None) -> int:
    """The microseconds of a duration; with `positive`, what it is the length of, it must be above zero."""
    micros, months = duration.args["micros"], duration.args.get("months")
    if months:
        raise source.at(duration, "months and years have no fixed length", "write the window in days")
    if positive and micros <= 0:
        raise source.at(duration, f"{positive} must be above zero", "write a length such as '1 minute'")
    return int(micros)


def _calls(item: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(item, WindowSet):
        yield from item.expressions
    else:
        yield item
