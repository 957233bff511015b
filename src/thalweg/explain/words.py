"""Numbers, SQL and times as short text for people."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from textwrap import wrap

from sqlglot import tokenize
from sqlglot.tokenizer_core import TokenType

from thalweg.expr.quoting import identifier, readable
from thalweg.expr.wording import worded
from thalweg.model.query import Aggregate
from thalweg.model.windows import Window, duration_text
from thalweg.statistics.known import Figure

WIDTH = 110
"""The columns that a terminal is taken to have."""

INDENT = "  "
LABEL = 12
"""The columns of a label, as `queries`."""

SHOWN = 6
"""The digits that are shown of a name that is its meaning."""

_SCALES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SPELLED = {"COUNT_ROWS": "COUNT(*)", "COUNT_DISTINCT": "COUNT(DISTINCT {})"}
_SHORT = {"day": "d", "hour": "h", "minute": "min", "second": "s", "millisecond": "ms", "microsecond": "us"}


def number(value: float) -> str:
    """A count or a cost in few characters.

    >>> [number(v) for v in (0, 0.004, 7.2, 600, 9999.6, 61_805, 1_250_000, 3.2e20)]
    ['0', '0.004', '7.2', '600', '10.0k', '61.8k', '1.25M', '3.2e+20']
    """
    if value >= 1e15:
        return scientific(value)
    if value < 99.95:
        return _trimmed(f"{value:.1f}" if value >= 0.95 or value == 0 else f"{value:.1g}")
    if round(value) < 10_000:
        return f"{value:,.0f}"
    scale, letter = next((s, n) for s, n in _SCALES if value >= s)
    return f"{_three(value / scale)}{letter}"


def scientific(value: float) -> str:
    """A number by its first digits and its power of ten, also where no float could hold it.

    >>> scientific(1_250_000_000), scientific(7 * 10**5000)
    ('1.2e+09', '7.0e+5000')
    """
    return f"{value:.1e}" if value < 1e300 else f"{Decimal(value):.1e}"


def _three(value: float) -> str:
    """Three digits."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def ratio(value: float, whole: float) -> str:
    """A part of a whole.

    >>> ratio(150, 480), ratio(1, 100_000)
    ('0.31', '1e-05')
    """
    part = value / whole if whole else 1.0
    return f"{part:.2f}" if part >= 0.0095 else f"{part:.0g}"


def share_text(share: Figure) -> str:
    """How many of the rows conditions choose, and how that is known.

    >>> share_text(Figure(0.25))
    '0.25 of rows (assumed)'
    """
    return f"{ratio(share.value, 1.0)} of rows ({share.origin})"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A number of things.

    >>> counted(1, "query", "queries"), counted(3, "window")
    ('1 query', '3 windows')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def moment(micros: int) -> str:
    """A time in UTC.

    >>> moment(1_500_000)
    '1970-01-01 00:00:01.500000'
    """
    try:
        return (
            (datetime.fromtimestamp(0, UTC) + timedelta(microseconds=micros))
            .replace(tzinfo=None)
            .isoformat(" ")
        )
    except OverflowError:
        return f"{micros:,} us"


def call_text(aggregate: Aggregate, named: Callable[[str], str] = readable) -> str:
    """An aggregate as a query writes it; `named` says what stands for a column.

    >>> from thalweg.expr.nodes import Column
    >>> call_text(Aggregate("COUNT_DISTINCT", (Column("price", "BIGINT"),)))
    'COUNT(DISTINCT price)'
    >>> call_text(Aggregate("FIRST_ROWS", (Column("price", "BIGINT"), Column("at", "TIMESTAMP")), params=("RANK", "3", "DESC NULLS LAST")))
    'RANK <= 3 by price DESC NULLS LAST of at'
    """
    if aggregate.function == "FIRST_ROWS":
        function, count, *orders = aggregate.params
        shown = [worded(a, named) for a in aggregate.args]
        by = ", ".join(f"{a} {o}" for a, o in zip(shown, orders, strict=False))
        rows = f" of {', '.join(shown[len(orders) :])}" if len(shown) > len(orders) else ""
        return f"{function} <= {count} by {by}{rows}"
    args = ", ".join([*(worded(a, named) for a in aggregate.args), *aggregate.params])
    call = _SPELLED.get(aggregate.function, f"{aggregate.function.removesuffix('_WIDE')}({{}})").format(args)
    return f"{call} FILTER (WHERE {worded(aggregate.where, named)})" if aggregate.where else call


def window_text(window: Window) -> str:
    """A window as short as it can be read.

    >>> window_text(Window(900_000_000, 300_000_000)), window_text(Window(10_000_000, 10_000_000))
    ('15 min by 5 min', '10 s')
    """
    if window.session:
        return f"session {short_duration(window.range)}"
    text = (
        short_duration(window.range)
        if window.tumbling
        else f"{short_duration(window.range)} by {short_duration(window.slide)}"
    )
    return f"{text} + {short_duration(window.offset)}" if window.offset else text


def short_duration(micros: int) -> str:
    """A duration as short as it can be read.

    >>> short_duration(90_000_000)
    '90 s'
    """
    count, _, unit = duration_text(micros).partition(" ")
    return f"{count} {_SHORT[unit.rstrip('s')]}"


def duration(micros: float) -> str:
    """A duration that is nowhere exact.

    >>> duration(60_000_000), duration(1_234_567.8)
    ('1 minute', '1.2 seconds')
    """
    return duration_text(int(micros)) if micros % 1e6 == 0 else f"{number(micros / 1e6)} seconds"


def labelled(label: str, text: str) -> Iterator[str]:
    """Text after a label, further lines below its beginning."""
    first = f"{INDENT}{label:<{LABEL}}"
    yield from wrap(text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first))


def listed(names: Sequence[str], width: int) -> str:
    """Names with commas, as many as fit, and how many more there are.

    >>> listed(["red", "green", "blue"], 12), listed(["red", "green", "blue"], 16)
    ('red and 2 more', 'red, green, blue')
    """
    for count in range(min(len(names), width // 3 + 1), 1, -1):
        rest = len(names) - count
        text = ", ".join(names[:count]) + (f" and {rest} more" if rest else "")
        if len(text) <= width:
            return text
    return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else "".join(names)


def short_id(name: str) -> str:
    """The name of a node, or of a column of it, for people: what it is of, and the first digits of its meaning.

    >>> short_id("bid_0123456789abcdef0123456789abcdef")
    'bid_012345'
    """
    what, _, digits = name.rpartition("_")
    return f"{what}_{digits[:SHOWN]}"


def short_name(name: str, meanings: Collection[str]) -> str:
    """The short form of a name that ends in one of these digits, whatever stands before them; any other name as it is."""
    return short_id(name) if name.rpartition("_")[2] in meanings else name


def short_names(sql: str, meanings: Collection[str]) -> str:
    '''SQL with the short form of its identifiers; texts and all else stay as they are.

    >>> print(short_names("""SELECT '"b_0123456789abcdef"' FROM "all_b_0123456789abcdef" WHERE x""", ["0123456789abcdef"]))
    SELECT '"b_0123456789abcdef"' FROM "all_b_012345" WHERE x
    '''
    written, at = "", 0
    for token in tokenize(sql, read="duckdb"):
        if token.token_type == TokenType.IDENTIFIER:
            written += sql[at : token.start] + identifier(short_name(token.text, meanings))
            at = token.end + 1
    return written + sql[at:]


def cut(text: str, width: int) -> str:
    """Text of at most a width.

    >>> cut("window", 4)
    'win…'
    """
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def quoted(text: str) -> str:
    """Text as a Mermaid label in double quotes may hold it.

    >>> quoted('a "b" <c>')
    'a #quot;b#quot; #lt;c#gt;'
    """
    return text.replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")


def joined(names: Collection[str]) -> str:
    """Names as in a sentence.

    >>> joined(["a", "b", "c"])
    'a, b and c'
    """
    names = list(names)
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
