"""Strategies for the windows of a query, in any of the notations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from thalweg.model.windows import Window, duration_text, session
from thalweg.testing.fields import name_sql

_FORMS = ("'{}'", "'{}'", "{}", "INTERVAL {}", "INTERVAL '{}'")
_CALLS = ("TABLE({})", "TABLE({}) AS w", "{}")
_lengths = st.sampled_from([1, 2, 3, 4, 5, 6, 8, 10, 12])
_offsets = st.sampled_from([0, 0, 0, 1, 5])


@dataclass(frozen=True)
class Windowing:
    """Where windows stand: in what follows FROM, or in GROUP BY."""

    table: str
    grouping: str


@st.composite
def window_texts(draw: DrawFn, stream: str, time: str, unit: int) -> Windowing:
    """A stream and the grouping by one to four windows, whose lengths are small multiples of `unit` microseconds."""
    windows = draw(st.lists(_windows(unit), min_size=1, max_size=4, unique=True))
    notations = [_documented(windows, draw(st.sampled_from(_FORMS)), draw(st.booleans()))] * 4
    if len(windows) == 1:
        notations.append(_spark(name_sql(time), windows[0]))
    if not any(w.offset or w.session for w in windows):
        notations.append(_azure(windows))
    found = [Windowing(stream, notation) for notation in notations]
    if len(windows) == 1:
        found += [_flink(stream, name_sql(time), draw(st.sampled_from(_CALLS)), windows[0])] * 2
    return draw(st.sampled_from(found))


def _flink(stream: str, time: str, form: str, window: Window) -> Windowing:
    """`TABLE(HOP(TABLE bid, DESCRIPTOR(at), INTERVAL '10' MINUTES, INTERVAL '1' HOUR))`; where the slide is
    a whole number of lengths, it is CUMULATE with the length as its step."""
    if window.session:
        return Windowing(stream, f"SESSION({time}, INTERVAL '{window.range}' MICROSECOND)")
    steps = window.slide // window.range
    if not window.tumbling and window.slide == steps * window.range:
        kind, lengths = "CUMULATE", [window.range, window.slide]
    else:
        kind, lengths = (
            ("TUMBLE", [window.range]) if window.tumbling else ("HOP", [window.slide, window.range])
        )
    lengths += [window.offset] if window.offset else []
    durations = ", ".join(f"INTERVAL '{d}' MICROSECOND" for d in lengths)
    return Windowing(
        form.format(f"{kind}(TABLE {stream}, DESCRIPTOR({time}), {durations})"), "window_start, window_end"
    )


def _windows(unit: int) -> SearchStrategy[Window]:
    tumbling = st.builds(lambda r, o: Window(r * unit, r * unit, o * unit), _lengths, _offsets)
    sessions = _lengths.map(lambda r: session(r * unit))
    hopping = st.builds(lambda r, s, o: Window(r * unit, s * unit, o * unit), _lengths, _lengths, _offsets)
    return st.one_of(tumbling, hopping, tumbling, hopping, sessions)


def _documented(windows: Sequence[Window], form: str, named: bool) -> str:
    """`WINDOWS(TUMBLE '1 minute', HOP '1 hour' BY '10 minutes' AS 'long')`; every other window has an id if `named`."""
    texts = [
        _window_text(w, form) + (f" AS 'id {i}'" if named and i % 2 == 0 else "")
        for i, w in enumerate(windows)
    ]
    return f"WINDOWS({', '.join(texts)})"


def _window_text(window: Window, form: str) -> str:
    range_, slide, offset = (
        form.format(duration_text(d)) for d in (window.range, window.slide, window.offset)
    )
    if window.session:
        return f"SESSION {range_}"
    text = f"TUMBLE {range_}" if window.tumbling else f"HOP {range_} BY {slide}"
    return text + (f" OFFSET {offset}" if window.offset else "")


def _spark(time: str, window: Window) -> str:
    """`window(at, '1 hour', '10 minutes')`."""
    if window.session:
        return f"session_window({time}, '{duration_text(window.range)}')"
    durations = [window.range, window.slide] + ([window.offset] if window.offset else [])
    return f"window({', '.join([time, *(repr(duration_text(d)) for d in durations)])})"


def _azure(windows: Sequence[Window]) -> str:
    """`Windows(Window('long', HoppingWindow(millisecond, 3600000, 600000)))`."""
    texts = [f"Window('id {i}', {_azure_window(w)})" for i, w in enumerate(windows)]
    return f"Windows({', '.join(texts)})"


def _azure_window(window: Window) -> str:
    range_, slide = window.range // 1000, window.slide // 1000
    return (
        f"TumblingWindow(millisecond, {range_})"
        if window.tumbling
        else f"HoppingWindow(millisecond, {range_}, {slide})"
    )
