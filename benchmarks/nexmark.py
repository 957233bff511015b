"""Nexmark: each query of examples/nexmark alone, and all together, beside the same on native Spark where that can express it.

Each engine runs in a process of its own, one query after another, over the same files; the first batches are warm-up and don't count. What
is counted is events of the streams that a query reads. Rows are compared where both give single rows, or rows of windows that are over.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from benchmarks.engines.progress import batches, keep_all
from thalweg.generate import Nexmark, write

SCRIPT = Path(__file__).parents[1] / "examples" / "nexmark" / "nexmark.sql"
STREAMS = ("person", "auction", "bid")
TOGETHER = "all"
WARMUP = 2
RATE = 1000


@dataclass(frozen=True)
class Size:
    """How many events there are, and in how many files a stream: a file of each is a batch."""

    events: int
    files: int


QUICK, FULL = Size(240_000, 6), Size(4_000_000, 12)


@dataclass(frozen=True)
class Measured:
    """A query on an engine: milliseconds a batch after warm-up, or why it did not run; and its rows."""

    query: str
    ms: float | None
    refused: str = ""
    rows: int = 0


def statements(script: str) -> tuple[str, dict[str, str]]:
    """What a script declares, and the text of each of its queries.

    >>> statements("CREATE VIEW v AS SELECT 1; CREATE QUERY q AS SELECT 2;")
    ('CREATE VIEW v AS SELECT 1;', {'q': 'SELECT 2'})
    """
    found, declared = {}, []
    for text in (t.strip() for t in re.sub(r"--[^\n]*", "", script).split(";")):
        query = re.match(r"CREATE QUERY (\w+)(?: INTO '[^']*')? AS\s+(.*)", text, re.DOTALL)
        if query:
            found[query[1]] = query[2]
        elif text:
            declared.append(f"{text};")
    return "\n".join(declared), found


def streams_of(text: str) -> list[str]:
    """The streams that a query reads; B is of bids."""
    names = set(re.findall(r"\b(person|auction|bid|B)\b(?=\s|,|\)|$)", _from(text)))
    return [s for s in STREAMS if s in {n if n in STREAMS else "bid" for n in names}]


def _from(text: str) -> str:
    """What stands after FROM, JOIN, TABLE and commas between them."""
    return " ".join(re.findall(r"(?:FROM|JOIN|TABLE|,)\s*\(?\s*(\w+)", text)) + " "


def ours(root: Path, size: Size, wanted: Sequence[str]) -> list[Measured]:
    """Each query in a session of its own, on one Spark; then all in one."""
    from thalweg.api.functions import declare_from
    from thalweg.api.session import Session
    from thalweg.engine.spark import start_spark

    declared, queries = statements(SCRIPT.read_text())
    declared = declared.replace("data/nexmark", str(root / "data")).replace(
        "files_per_batch = 4", "files_per_batch = 1"
    )
    spark = start_spark("local[2]")
    keep_all(spark)
    found = []
    for name in [n for n in [*queries, TOGETHER] if n in wanted or not wanted]:
        texts = queries if name == TOGETHER else {name: queries[name]}
        with Session(root / "ours" / name, spark=spark, settings={"partitions": "2"}) as session:
            session.sql(declared)
            declare_from(session, str(SCRIPT.with_name("count_char.py")))
            handles = {n: session.query(text, name=n) for n, text in texts.items()}
            session.run_available()
            ms = [b.ms for b in batches(session.reports())][WARMUP:]
            for n, handle in handles.items() if name != TOGETHER else ():
                rows = handle.results()
                save(root / "rows" / "ours" / n, rows)
            found.append(
                Measured(
                    name, sum(ms) / max(len(ms), 1), rows=sum(h.results().num_rows for h in handles.values())
                )
            )
        print(json.dumps(asdict(found[-1])), flush=True)
    spark.stop()
    return found


def save(folder: Path, rows: pa.Table) -> None:
    """Keep rows for comparison."""
    folder.mkdir(parents=True, exist_ok=True)
    ds.write_dataset(rows, folder, format="parquet", existing_data_behavior="overwrite_or_ignore")


def rows_of(folder: Path) -> Counter[tuple[str, ...]] | None:
    """Rows as texts, by position of their columns; None where nothing was written."""
    files = list(folder.rglob("*.parquet"))
    found = Counter[tuple[str, ...]]()
    for file in files:
        found.update(zip(*map(_texts, pq.ParquetFile(file).read().columns), strict=True))
    return found if files else None


def _texts(column: Any) -> list[str]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    return [
        f"{float(v):.6f}" if pa.types.is_decimal(column.type) and v is not None else str(v)
        for v in column.to_pylist()
    ]


def compared(root: Path, query: str) -> str:
    """Whether rows of both engines are the same; those of windows may be missing where a watermark has not passed."""
    from benchmarks.nexmark_native import CHANGES, WINDOWED

    if query in CHANGES or query == TOGETHER:
        return ""
    mine, its = (rows_of(root / "rows" / engine / query) for engine in ("ours", "native"))
    if its is None or mine is None:
        return ""
    if mine == its:
        return f"{sum(its.values()):,} equal"
    if query in WINDOWED and not its - mine:
        return f"{sum(its.values()):,} of {sum(mine.values()):,}, equal"
    return f"DIFFER by {sum((mine - its).values()):,} and {sum((its - mine).values()):,}"


def engine(name: str, root: Path, size: Size, wanted: Sequence[str]) -> None:
    """Run an engine in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.nexmark",
        "--engine",
        name,
        "--root",
        str(root),
        "--events",
        str(size.events),
    ]
    command += ["--files", str(size.files), *(["--queries", ",".join(wanted)] if wanted else [])]
    with (root / f"{name}.jsonl").open("w") as out:
        subprocess.run(command, stdout=out, check=False)


def told(root: Path, name: str) -> dict[str, Measured]:
    """What an engine has measured, now or in an earlier run in this place."""
    path = root / f"{name}.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    found = [Measured(**json.loads(line)) for line in lines if line.startswith("{")]
    return {m.query: m for m in found}


def table(root: Path, size: Size, mine: dict[str, Measured], its: dict[str, Measured]) -> Table:
    """A line for each query: events a second on either, how many times as fast, and what was compared."""
    made = Table(
        "query",
        "Thalweg",
        "Spark",
        "times",
        "rows",
        title=f"events/s in batches of {size.events // size.files:,} events",
    )
    _, queries = statements(SCRIPT.read_text())
    for name, found in mine.items():
        read = STREAMS if name == TOGETHER else streams_of(queries[name])
        events = size.events // size.files * sum({"person": 1, "auction": 3, "bid": 46}[s] for s in read) / 50
        other = its.get(name)
        spark, times = "", ""
        if other is not None:
            spark = f"{1000 * events / other.ms:,.0f}" if other.ms else other.refused
            times = f"{other.ms / found.ms:.2f}" if other.ms and found.ms else ""
        rate = f"{1000 * events / found.ms:,.0f}" if found.ms else found.refused
        made.add_row(name, rate, spark, times, compared(root, name))
    return made


def summary(mine: dict[str, Measured], its: dict[str, Measured]) -> str:
    """The mean of times (geometric), losses, and what all together cost beside the slowest alone."""
    times = {n: o.ms / m.ms for n, m in mine.items() if (o := its.get(n)) and o.ms and m.ms and n != TOGETHER}
    said = []
    if times:
        product = 1.0
        for t in times.values():
            product *= t
        losses = ", ".join(f"{n} ({t:.2f})" for n, t in times.items() if t < 1) or "none"
        said.append(
            f"{len(times)} queries on both: {product ** (1 / len(times)):.2f} times Spark in the geometric mean; slower: {losses}"
        )
    alone = [m.ms for n, m in mine.items() if n != TOGETHER and m.ms]
    if alone and (together := mine.get(TOGETHER)) and together.ms:
        said.append(
            f"all together: {together.ms / max(alone):.2f} times the time of the slowest alone, {together.ms / sum(alone):.2f} of the sum"
        )
    return "\n".join(said)


def main() -> None:
    """Generate, run both engines, print the table."""
    from benchmarks import nexmark_native

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK.events:,} events in place of {FULL.events:,}"
    )
    parser.add_argument("--queries", default="", help="some of them, as q0,q5,all")
    parser.add_argument("--engines", default="ours,native")
    parser.add_argument("--root", type=Path, help="where data and results are, to be used again")
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument("--events", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--files", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    size = Size(given.events, given.files) if given.events else QUICK if given.quick else FULL
    wanted = [q for q in given.queries.split(",") if q]
    if given.engine:
        {"ours": ours, "native": nexmark_native.run}[given.engine](given.root, size, wanted)
        return
    root = given.root or Path(tempfile.mkdtemp(prefix="nexmark-"))
    if not (root / "data").exists():
        write(Nexmark(events=size.events, rate=RATE), root / "data", "parquet", size.events // size.files)
    sides = "\n".join(f"{n},side {n}" for n in range(10_000))
    (root / "data" / "side_input.csv").write_text(f"key,value\n{sides}\n")
    for name in given.engines.split(","):
        engine(name, root, size, wanted)
    found = {name: told(root, name) for name in ("ours", "native")}
    console = Console(width=130)
    console.print(table(root, size, found["ours"] or found["native"], found["native"]))
    console.print(summary(found["ours"], found["native"]))


if __name__ == "__main__":
    main()
