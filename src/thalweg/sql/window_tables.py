"""A SELECT from a window of a table becomes one whose window stands in GROUP BY; of rows, one that computes the ends of their windows."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from thalweg.model.windows import duration_text
from thalweg.sql.aggregates import groups_rows
from thalweg.sql.builder import is_star, unwrapped
from thalweg.sql.nodes import Duration, TableWindow, WindowCall, WindowSet
from thalweg.sql.over import over_calls
from thalweg.sql.source import Source, placed
from thalweg.sql.windows import fixed_length, is_window

COLUMNS = ("window_start", "window_end", "window_time")
MOST_STEPS = 100
"""Windows of one CUMULATE."""
_GROUPED = "add window_start, window_end to GROUP BY"


def without_table_windows(source: Source, select: exp.Select) -> exp.Select:
    """A SELECT in which no table has a window; the same one where none has."""
    tables = [t for t in _inputs(select) if isinstance(t, exp.Table) and t.args.get("windowing") is not None]
    if not tables:
        return select
    if select.args.get("joins"):
        window = tables[0].args["windowing"]
        raise source.at(
            window,
            f"{window.args['kind']} in a join is not supported",
            "write the window after the stream: bid [TUMBLE 1 HOUR]",
        )
    table, window = tables[0], tables[0].args["windowing"]
    table.set("windowing", None)
    alias = (table.alias or table.name).lower()
    table.set("time", window.args["time"].copy())
    if groups_rows(select):
        return _grouped(source, select, window, alias)
    if any(_names_window(call, alias) for call in _calls(select)):
        return _ranked(source, select, window, alias)
    return _of_rows(source, select, window, alias)


def _inputs(select: exp.Select) -> Iterator[exp.Expr]:
    from_ = select.args.get("from_")
    yield from () if from_ is None else (from_.this, *(j.this for j in select.args.get("joins") or ()))


def _grouped(source: Source, select: exp.Select, window: TableWindow, alias: str) -> exp.Select:
    """Groups: the window goes into GROUP BY, which must name it."""
    group = select.args.get("group")
    if group is None:
        raise source.at(window, "the groups have no window", _GROUPED)
    if (other := next(filter(is_window, group.expressions), None)) is not None:
        raise source.at(other, "the table has a window already", "keep one of the two")
    named = [_reference(item, alias) for item in _group_items(select)]
    wanted = {"window_end"} if window.args["kind"] == "CUMULATE" else set(COLUMNS)
    if wanted.isdisjoint(named):
        raise source.at(group, "the groups have no window", _GROUPED)
    if (where := select.args.get("where")) is not None:
        _replace(source, where, window, alias, ends=True)
    for part in (*select.expressions, group, select.args.get("having")):
        if part is not None:
            _replace(source, part, window, alias, ends=False)
    keys = [item for item, name in zip(group.expressions, named, strict=True) if name is None]
    _check_keys(source, window, [i for i, n in zip(_group_items(select), named, strict=True) if n is None])
    group.set("expressions", [*keys, placed(_windows(source, window), window)])
    return select


def _check_keys(source: Source, window: TableWindow, keys: list[exp.Expr]) -> None:
    """Sessions are of the values that rows are grouped by, so PARTITION BY of the stream names the same columns."""
    if window.args["kind"] != "SESSION":
        return
    grouped = {k.name.lower() if isinstance(k, exp.Column) else source.written(k) for k in keys}
    if grouped != {k.name.lower() for k in window.args["keys"]}:
        written = ", ".join(source.written(k) for k in keys)
        hint = f"write PARTITION BY {written} after the stream" if keys else "leave out PARTITION BY"
        raise source.at(window, "the sessions are not of what rows are grouped by", hint)


def _group_items(select: exp.Select) -> Iterator[exp.Expr]:
    """What GROUP BY names, with positions and aliases of SELECT replaced."""
    shown = [unwrapped(i.this if isinstance(i, exp.Alias) else i) for i in select.expressions]
    named = {i.alias.lower(): i.this for i in select.expressions if isinstance(i, exp.Alias)}
    for item in map(unwrapped, select.args["group"].expressions):
        if isinstance(item, exp.Literal) and item.name.isdecimal() and 1 <= int(item.name) <= len(shown):
            yield shown[int(item.name) - 1]
        elif isinstance(item, exp.Column) and not item.table and item.name.lower() in named:
            yield unwrapped(named[item.name.lower()])
        else:
            yield item


def _calls(select: exp.Select) -> Iterator[exp.Window]:
    return over_calls(*select.expressions, select.args.get("qualify"))


def _names_window(call: exp.Window, alias: str) -> bool:
    return any(_reference(unwrapped(i), alias) is not None for i in call.args.get("partition_by") or ())


def _ranked(source: Source, select: exp.Select, window: TableWindow, alias: str) -> exp.Select:
    """Rows that are ranked in each window: it goes into PARTITION BY in the place of its columns."""
    _show_ends(select, alias)
    for call in _calls(select):
        keys = [i for i in call.args.get("partition_by") or () if _reference(unwrapped(i), alias) is None]
        _check_keys(source, window, keys)
        call.set("partition_by", [*keys, placed(_windows(source, window), window)])
    if (where := select.args.get("where")) is not None:
        _replace(source, where, window, alias, ends=True)
    for part in (*select.expressions, select.args.get("qualify")):
        if part is not None:
            _replace(source, part, window, alias, ends=False)
    return select


def _show_ends(select: exp.Select, alias: str) -> None:
    """Columns of the window as results: those that a star stands for, and each under its own name, which what computes it has not."""
    items: list[exp.Expr] = []
    for item in select.expressions:
        ends = [placed(exp.column(name), item) for name in COLUMNS] if is_star(item) else []
        items += [item, *ends]
    select.set("expressions", [_named(item, alias) for item in items])


def _of_rows(source: Source, select: exp.Select, window: TableWindow, alias: str) -> exp.Select:
    """Rows: each is in one tumbling window, whose ends follow from its time."""
    if (kind := window.args["kind"]) == "SESSION":
        raise source.at(
            window,
            "the session of a row is not known before it is over",
            "group by window_start, window_end, or use TUMBLE",
        )
    if kind != "TUMBLE":
        raise source.at(
            window,
            f"{kind} without GROUP BY would give every row several times",
            "group by window_start, window_end, or use TUMBLE",
        )
    _show_ends(select, alias)
    for part in (*select.expressions, select.args.get("where"), select.args.get("qualify")):
        if part is not None:
            _replace(source, part, window, alias, ends=True)
    return select


def _named(item: exp.Expr, alias: str) -> exp.Expr:
    """A column of the window under its own name, which what computes it has not."""
    name = _reference(item, alias)
    return item if name is None else placed(exp.Alias(this=item, alias=exp.to_identifier(name)), item)


def _reference(node: exp.Expr, alias: str) -> str | None:
    """The column of the window that a node names, perhaps with the name of the table before it."""
    if (
        not isinstance(node, exp.Column)
        or node.name.lower() not in COLUMNS
        or node.table.lower() not in ("", alias)
    ):
        return None
    return str(node.name.lower())


def _replace(source: Source, part: exp.Expr, window: TableWindow, alias: str, ends: bool) -> None:
    """The columns of the window: computed from the time of a row (`ends`), or as groups have them."""
    for node in [n for n in part.walk() if _reference(n, alias) is not None]:
        name = _reference(node, alias) or ""
        end = (
            _computed(source, window, name)
            if ends
            else exp.column("window_start" if name == "window_start" else "window_end")
        )
        placed(end, node)
        node.replace(placed(exp.Paren(this=_before(end)), node) if name == "window_time" else end)


def _before(end: exp.Expr) -> exp.Expr:
    """The last millisecond of a window, which Flink gives as the time of its results."""
    return exp.Sub(this=end, expression=Duration(micros=1000))


def _computed(source: Source, window: TableWindow, name: str) -> exp.Expr:
    """The start or the end of the window that a row is in."""
    if window.args["kind"] != "TUMBLE":
        raise source.at(
            window,
            f"{name} is not known of a row of {window.args['kind']}",
            "use it in SELECT or HAVING, or use TUMBLE",
        )
    call = _windows(source, window)
    size = fixed_length(source, call.args["range"], "the size of a window")
    offset = fixed_length(source, call.args["offset"]) if call.args.get("offset") else 0
    micros = exp.Anonymous(this="UNIX_MICROS", expressions=[window.args["time"].copy()])
    since = exp.Anonymous(
        this="PMOD", expressions=[exp.Sub(this=micros.copy(), expression=_number(offset)), _number(size)]
    )
    start: exp.Expr = exp.Sub(this=micros, expression=since)
    if name != "window_start":
        start = exp.Add(this=start, expression=_number(size))
    return exp.Anonymous(this="TIMESTAMP_MICROS", expressions=[start])


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def _windows(source: Source, window: TableWindow) -> exp.Expr:
    """The windows as GROUP BY has them. Flink has the slide before the size."""
    kind, time, durations = window.args["kind"], window.args["time"], window.args["durations"]
    if kind == "TUMBLE":
        return WindowCall(time=time.copy(), **_filled(("range", "offset"), durations))
    if kind == "SESSION":
        return WindowCall(time=time.copy(), session=True, **_filled(("range",), durations))
    if kind == "HOP":
        return WindowCall(time=time.copy(), **_filled(("slide", "range", "offset"), durations))
    step, most = (
        fixed_length(source, d, f"the {w} of CUMULATE")
        for d, w in zip(durations, ("step", "greatest size"), strict=False)
    )
    if most % step or most // step > MOST_STEPS:
        hint = f"write a size that is one to {MOST_STEPS} times the step of {duration_text(step)}"
        raise source.at(
            window, "CUMULATE takes a size that is a whole number of steps, and not too many", hint
        )
    ranges = [placed(Duration(micros=n), window) for n in range(step, most + 1, step)]
    more = _filled(("offset",), durations[2:])
    slide = durations[1].copy()
    return WindowSet(
        expressions=[
            placed(WindowCall(time=time.copy(), range=r, slide=slide.copy(), **more), window) for r in ranges
        ]
    )


def _filled(keys: tuple[str, ...], durations: list[exp.Expr]) -> dict[str, exp.Expr]:
    return {k: d.copy() for k, d in zip(keys, durations, strict=False)}
