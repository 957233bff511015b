"""The session in Prometheus' text format."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping

from thalweg.service.record import BOUNDS, Record, Times
from thalweg.service.views import Look, queries_of

Labels = Mapping[str, str]


def metrics_text(at: Look, record: Record) -> str:
    """All that is measured, a line each."""
    return "\n".join([*_session(at, record), *_streams(at), *_queries(at), *_histogram(record.times), ""])


def _session(at: Look, record: Record) -> Iterator[str]:
    files = at.manifest.files
    yield from _metric("up", "gauge", "1 while batches run.", [({}, at.status == "running")])
    yield from _metric("batch", "gauge", "The last batch that was committed.", [({}, at.manifest.batch)])
    yield from _metric("state_bytes", "gauge", "Bytes of state.", [({}, sum(f.bytes for f in files))])
    yield from _metric("state_rows", "gauge", "Rows of state.", [({}, sum(f.rows for f in files))])
    yield from _metric(
        "start_time_seconds", "gauge", "When the service was started.", [({}, round(record.began, 3))]
    )


def _streams(at: Look) -> Iterator[str]:
    counts = {n: c for n, c in at.manifest.streams.items() if n in at.catalog.streams}
    yield from _metric(
        "stream_rows_total", "counter", "Rows read.", [({"stream": n}, c.rows) for n, c in counts.items()]
    )
    yield from _metric(
        "stream_late_rows_total",
        "counter",
        "Rows that came late.",
        [({"stream": n}, c.late) for n, c in counts.items()],
    )
    bad = [({"stream": n}, c.bad_rows) for n, c in counts.items()]
    yield from _metric("stream_bad_rows_total", "counter", "Rows that were set aside.", bad)
    files = [({"stream": n}, c.bad_files) for n, c in counts.items()]
    yield from _metric("stream_bad_files_total", "counter", "Files that were set aside.", files)
    times = {
        n: f / 1e6 for n, f in at.manifest.frontiers.items() if f is not None and n in at.catalog.streams
    }
    frontiers = [({"stream": n}, round(t, 6)) for n, t in times.items()]
    yield from _metric(
        "stream_frontier_seconds", "gauge", "The event time below which all rows are known.", frontiers
    )
    waiting = [({"stream": n}, b) for n, b in at.waiting.items()]
    yield from _metric("stream_waiting_bytes", "gauge", "Bytes that were pushed and not read yet.", waiting)
    lags = [({"stream": n}, round(time.time() - t, 3)) for n, t in times.items()]
    yield from _metric("stream_lag_seconds", "gauge", "How long ago the frontier is.", lags)


def _queries(at: Look) -> Iterator[str]:
    queries = list(queries_of(at, lambda query: ""))
    yield from _metric(
        "query_rows_total", "counter", "Result rows.", [({"query": q.name}, q.rows) for q in queries]
    )
    yield from _metric(
        "query_late_rows_total",
        "counter",
        "Late rows left out.",
        [({"query": q.name}, q.late) for q in queries],
    )
    lags = [({"query": q.name}, q.lag) for q in queries if q.lag is not None]
    yield from _metric(
        "query_lag_seconds", "gauge", "How long ago the event time is up to which there are results.", lags
    )
    kept = [({"query": q.name}, q.state_bytes) for q in queries]
    yield from _metric(
        "query_state_bytes", "gauge", "Bytes of state that it uses, perhaps with others.", kept
    )
    states = [({"query": q.name, "status": q.status.partition(":")[0]}, 1) for q in queries]
    yield from _metric("query_status", "gauge", "1 under the status that a query has.", states)


def _histogram(times: Times) -> Iterator[str]:
    name = "thalweg_batch_seconds"
    yield from (
        f"# HELP {name} Seconds of a batch since the start of the service.",
        f"# TYPE {name} histogram",
    )
    below = 0
    for bound, count in zip((*BOUNDS, "+Inf"), times.counts, strict=True):
        below += count
        yield f'{name}_bucket{{le="{bound}"}} {below}'
    yield f"{name}_sum {round(times.seconds, 6)}"
    yield f"{name}_count {times.number}"


def _metric(name: str, kind: str, help: str, values: Iterable[tuple[Labels, float]]) -> Iterator[str]:
    yield f"# HELP thalweg_{name} {help}"
    yield f"# TYPE thalweg_{name} {kind}"
    for labels, value in values:
        yield f"thalweg_{name}{_labels(labels)} {int(value) if isinstance(value, bool) else value}"


def _labels(labels: Labels) -> str:
    r"""Labels as the format has them.

    >>> print(_labels({"query": 'a"b\n'}))
    {query="a\"b\n"}
    """
    escaped = {k: v.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for k, v in labels.items()}
    return "{" + ",".join(f'{k}="{v}"' for k, v in escaped.items()) + "}" if labels else ""
