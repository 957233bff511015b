"""What a query must have found in its life: the definition over the batches up to its end, from where its rows begin to count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from thalweg.api.handle import QueryHandle
from thalweg.model.stream import Stream
from thalweg.testing.reference_nesting import Data, reference_any


def reference_of(
    handle: QueryHandle, streams: Mapping[str, Stream], fed: Sequence[Mapping[str, pa.Table]]
) -> pa.Table:
    """The results of a query by its epoch or its replay, its beginnings and its end; `fed` are the rows of all batches, by stream."""
    query, begins = handle.query, {s: t for s, t in (handle.begins or {}).items() if t is not None}
    batches = [] if handle.epoch is None and handle.catching_up is None else fed[: handle.ended]
    empty = {s: next(b[s] for b in fed if s in b).slice(0, 0) for s in query.sources}
    return reference_any(query, Data(streams, [{**empty, **b} for b in batches] or [empty], begins=begins))
