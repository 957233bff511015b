"""The function of Nexmark's q14."""

import pyarrow as pa

import thalweg


@thalweg.function("STRING, STRING -> BIGINT")
def count_char(text: pa.Array, char: pa.Array) -> list[int | None]:
    """How often a character is in a text."""
    return [
        None if t is None or c is None else t.count(c)
        for t, c in zip(text.to_pylist(), char.to_pylist(), strict=True)
    ]
