"""Statements of the documentation, the examples and the tests, mutated: a session carries them out or says what is wrong, in no time.

THALWEG_STATEMENTS says how many are tried; `make soak` tries 100,000.
"""

from __future__ import annotations

import os
import random
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from thalweg import Session
from thalweg.errors import InternalError, SqlError, ThalwegError
from thalweg.model.catalog import Catalog
from thalweg.sql.dialect import Thalweg

ROOT = Path(__file__).parents[3]
COUNT = int(os.environ.get("THALWEG_STATEMENTS", "3000"))
PARTS = 4
SECONDS = 1.0
"""Of this thread's own time, so that a busy machine changes nothing."""
PLAIN = r"""
( ) [ ] , . ; * + - / % < > = <> <=> || :: -> | & ^ ~ ' " ` \ ? @ : { } 0 1 -1 1.5 1e999 0x1F NULL TRUE FALSE
SELECT FROM WHERE GROUP BY HAVING AS AND OR NOT IN IS LIKE RLIKE BETWEEN CASE WHEN THEN ELSE END CAST INTERVAL DISTINCT
TUMBLE HOP WINDOWS WINDOW RANGE UNBOUNDED EVERY EMIT CHANGES OFFSET UNION OVER LATERAL VALUES WITH PIVOT DATE TIMESTAMP
CREATE OR REPLACE ALTER DROP EXPLAIN ANALYZE SHOW SET QUERY STREAM TABLE INTO MIN SUM COUNT PERCENTILE FILTER window_end __time
price auction at channel url id state name NULLIF(price,1) SUBSTRING(url,1,2) price/0 price%0 DATE_TRUNC('hour',at) b.price a.id
-- /* */ '' '1' 'é'
"""
WORDS = (
    *PLAIN.split(),
    "'1 minute'",
    "'0 seconds'",
    "'-1 day'",
    "'99999999999 weeks'",
    "9" * 40,
    "'\x00'",
    "\n",
)
LEAVES = ("price", "auction", "at", "b.price", "a.id", "k", "v", "1", "0", "-2147483649", "1.5", "'a'", "'%Y'", "NULL", "TRUE", "*",
          "INTERVAL 1 DAY", "DATE '2024-02-30'", "TIMESTAMP '2024-01-01'", "COUNT(*)", "SUM(price)", "window_end")  # fmt: skip
LENGTHS = (
    "1",
    "7",
    "60",
    "86400",
    "'1 microsecond'",
    "'1 second'",
    "'90 seconds'",
    "'7 minutes'",
    "'3650 days'",
    "'1 month'",
    "'1000 weeks'",
)
OPERATORS = (
    "+",
    "-",
    "*",
    "/",
    "%",
    "DIV",
    "||",
    "=",
    "<=>",
    "<",
    "AND",
    "OR",
    "LIKE",
    "RLIKE",
    "IN",
    "&",
    "^",
    "IS DISTINCT FROM",
)
FUNCTIONS = sorted(
    {
        *re.findall(r"`([A-Z][A-Z0-9_]+)", (ROOT / "docs" / "sql.md").read_text()),
        "NOW",
        "RAND",
        "EXPLODE",
        "ARRAY",
        "STRUCT",
    }
)


def corpus() -> list[str]:
    """Scripts that are right: those of the repository, each with what it declares."""
    pages = [p.read_text() for p in (ROOT / "docs" / "sql.md", ROOT / "README.md")]
    marked = ["\n".join(re.findall(r"```sql\n(.*?)```", page, re.DOTALL)) for page in pages]
    files = [*(ROOT / "tests" / "plans").glob("*.sql"), *(ROOT / "examples").glob("*.sql")]
    streams = [
        p.read_text().partition("\n---")[0] for p in sorted((ROOT / "tests" / "streams").rglob("*.stream"))
    ]
    scripts = [*marked, *(p.read_text() for p in sorted(files)), *(_with_files(s) for s in streams)]
    return [re.sub(r"--[^\n]*", "", script) for script in scripts]


def _with_files(script: str) -> str:
    """A script of the tests, whose rows stand below it, as if they stood in files."""
    script = re.sub(r"(CREATE STREAM (\w+)[^;]*?WITH \()", r"\1format = 'parquet', path = 'in/\2', ", script)
    return re.sub(r"(CREATE TABLE (\w+)[^;]*?WITH \()", r"\1path = 'in/\2', ", script)


@dataclass(frozen=True)
class Known:
    """A statement that is right, as tokens with what stands between them, and what is declared where it stands."""

    tokens: tuple[str, ...]
    declared: Catalog


def known_statements(session: Session) -> list[Known]:
    """The single statements of the corpus. What is declared is what their script declares in the end, of queries those that they name; where
    a stream gets columns, it is what the script declares before that."""
    found: dict[str, Known] = {}
    for script in corpus():
        declared = _declared(session, script)
        for text in script.split(";"):
            if len(tokens := _tokens(text)) > 1:
                there = _declared(session, script.partition(text)[0]) if "ALTER STREAM" in text else declared
                found.setdefault(text, Known(tokens, _before(text, tokens, there)))
    return list(found.values())


def _declared(session: Session, script: str) -> Catalog:
    """What a script declares, but for what it drops."""
    session._declarations.catalog = Catalog()
    session.sql(re.sub(r"DROP [^;]*;", "", script))
    return session.catalog


def _before(text: str, tokens: tuple[str, ...], catalog: Catalog) -> Catalog:
    """What is declared where a statement stands."""
    words = [t.strip() for t in tokens]
    named = {*words} - {*(words[2:3] if words[:2] == ["CREATE", "QUERY"] else ())}
    read = {name: query for name, query in catalog.queries.items() if name in named}
    return replace(catalog, queries=read, streams={} if "CREATE STREAM" in text else catalog.streams)


def _tokens(text: str) -> tuple[str, ...]:
    found = Thalweg().tokenize(text)
    ends = [0, *(t.end + 1 for t in found)]
    return tuple(text[ends[i] : t.end + 1] for i, t in enumerate(found))


def mutated(draw: random.Random, one: Known, known: list[Known]) -> str:
    """A statement with some tokens deleted, doubled, swapped, replaced, taken from others, nested, repeated or shuffled."""
    tokens = list(one.tokens)
    for _ in range(draw.choice((1, 1, 1, 1, 2, 3, 5))):
        i, j = draw.randrange(len(tokens)), draw.randrange(len(tokens))
        match draw.randrange(18):
            case 0 if len(tokens) > 1:
                del tokens[i]
            case 1:
                tokens.insert(i, tokens[i])
            case 2:
                tokens[i], tokens[j] = tokens[j], tokens[i]
            case 3:
                tokens[i] = f" {draw.choice(WORDS)}"
            case 4:
                tokens.insert(i, f" {draw.choice(WORDS)}")
            case 5:
                other = draw.choice(known).tokens
                at = draw.randrange(len(other))
                tokens[i : i + draw.randrange(3)] = other[at : at + draw.randrange(1, 8)]
            case 6:
                low, high = sorted((i, j))
                tokens[low:high] = [*(" (",) * 20, *tokens[low:high], *(")",) * 20]
            case 7:
                low, high = sorted((i, j))
                tokens[low:high] = (tokens[low:high] * draw.randrange(2, 30))[:2000]
            case 8:
                tokens[i] = "".join(draw.sample(tokens[i], len(tokens[i])))
            case 9 | 10:
                lengths = [n for n, t in enumerate(tokens) if re.fullmatch(r"\s*'?\d+( \w+)?'?", t)] or [i]
                tokens[draw.choice(lengths)] = f" {draw.choice(LENGTHS)}"
            case _:
                names = [n for n, t in enumerate(tokens) if re.fullmatch(r"\s*[a-z]\w*", t)] or [i]
                tokens[draw.choice(names)] = f" {expression(draw)}"
    return "".join(tokens)


def expression(draw: random.Random, depth: int = 0) -> str:
    """A call of a documented function, or an operator, over columns, constants and more of the kind."""
    if depth == 3 or draw.random() < 0.4:
        return draw.choice(LEAVES)
    args = [expression(draw, depth + 1) for _ in range(draw.choice((0, 1, 1, 2, 2, 3, 4)))]
    if draw.random() < 0.7:
        return f"{draw.choice(FUNCTIONS)}({', '.join(args)})"
    return f" {draw.choice(OPERATORS)} ".join(["(" + a + ")" for a in args]) or "()"


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session over files that are not there."""
    monkeypatch.chdir(tmp_path)
    return Session(tmp_path / "run")


def attempt(session: Session, declared: Catalog, text: str) -> bool:
    """Carry a text out and plan it, if it is right; what is wrong with it is told at a place in it. Neither takes long."""
    session._declarations.catalog, started, is_right = declared, time.thread_time(), False
    try:
        session.sql(text)
        is_right = True
        if session.catalog.queries:
            str(session.explain())
    except InternalError:
        raise
    except SqlError as error:
        assert error.message and str(error) and error.message != "the statement can't be read"
        assert error.hint, error.message
        assert error.line is None or 1 <= error.line <= len((text + "x").splitlines())
    except ThalwegError as error:
        assert error.message and str(error)
    assert (took := time.thread_time() - started) < SECONDS, f"{took:.1f} s"
    return is_right


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_mutated_statements(session: Session, part: int) -> None:
    draw, known = random.Random(part), known_statements(session)
    queries = [k for k in known if any("SELECT" in t for t in k.tokens)]
    for number in range(COUNT // PARTS):
        one = draw.choice(queries if draw.random() < 0.7 else known)
        text = mutated(draw, one, known)
        try:
            attempt(session, one.declared, text)
        except Exception as error:
            pytest.fail(f"statement {number} of part {part}: {type(error).__name__}: {error}\n{text}")


def test_statements_as_they_stand(session: Session) -> None:
    known = [k for k in known_statements(session) if "DROP" not in k.tokens[0]]
    wrong = [text for k in known if not attempt(session, k.declared, text := "".join(k.tokens))]
    assert len(known) > 150 and not wrong
