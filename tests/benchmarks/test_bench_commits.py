"""The figures of commits can be taken."""

from __future__ import annotations

import re

from benchmarks.commits import checksums, flushing, manifests, marking


def test_what_is_written_does_not_grow_with_what_stays() -> None:
    few, many = (int(re.findall(r"([\d,]+) bytes", manifests(n, 5))[0].replace(",", "")) for n in (10, 400))
    assert many < few + 100


def test_the_other_tables() -> None:
    assert re.search(
        r"1 queries, +\d+ result files a batch: durable +\d+\.\d ms, not +\d+\.\d", flushing(1, 4)
    )
    assert re.search(r"2 streams, 10 files in a compact log: median \d+\.\d\d ms, mean", marking(2, 10, 12))
    assert re.search(r"\d GB/s", checksums())
