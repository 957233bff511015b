"""The words that generated strings are made of, and ways to make columns of them without a loop over rows."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.generate.draws import Bits, Ids, below, bits

FIRST_NAMES = pa.array(
    ["Ada", "Ben", "Clara", "Diego", "Edith", "Felix", "Grace", "Hugo", "Iris", "Jonas", "Kira", "Liam"]
)
LAST_NAMES = pa.array(
    ["Abel", "Baker", "Cole", "Dean", "Ellis", "Frost", "Gray", "Hale", "Irwin", "Jensen", "Keller", "Lowe"]
)
STATES = pa.array(["AZ", "CA", "ID", "OR", "WA", "WY"])
CITIES = pa.array(
    [
        "Phoenix",
        "Tucson",
        "Los Angeles",
        "San Francisco",
        "Boise",
        "Nampa",
        "Portland",
        "Bend",
        "Seattle",
        "Kent",
        "Cheyenne",
        "Laramie",
    ]
)
CITIES_PER_STATE = len(CITIES) // len(STATES)
MAIL_DOMAINS = pa.array(["example.com", "example.net", "example.org"])
FOUR_DIGITS = pa.array([f"{number:04}" for number in range(10_000)])

ADJECTIVES = pa.array(
    [
        "antique",
        "brass",
        "carved",
        "enamelled",
        "folding",
        "green",
        "heavy",
        "inlaid",
        "painted",
        "silver",
        "small",
        "tall",
    ]
)
THINGS = pa.array(
    [
        "atlas",
        "barometer",
        "camera",
        "chair",
        "clock",
        "desk",
        "globe",
        "lamp",
        "map",
        "mirror",
        "radio",
        "teapot",
        "vase",
    ]
)
CONDITIONS = pa.array(
    ["as new", "hardly used", "in good order", "with a scratch", "in need of repair", "in its box"]
)
ORIGINS = pa.array(
    ["from an estate", "from a collection", "from a closed shop", "found in an attic", "sold by the maker"]
)

HOT_CHANNELS = ("Apple", "Google", "Facebook", "Baidu")
COLD_CHANNELS = 10_000
_LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)


def pick(words: pa.Array, at: Ids) -> pa.Array:
    """The words at these positions."""
    return words.take(pa.array(at))


def join(separator: str, *parts: pa.Array) -> pa.Array:
    """The parts of each row, with the separator between them."""
    return pc.binary_join_element_wise(*parts, separator)


@lru_cache(maxsize=1)
def channels() -> tuple[pa.Array, pa.Array]:
    """The channels, hot ones first, and the address that bids of each come from: nine in ten name the channel in it."""
    ids = np.arange(len(HOT_CHANNELS) + COLD_CHANNELS, dtype=np.int64)
    names = [*HOT_CHANNELS, *(f"channel-{number}" for number in range(COLD_CHANNELS))]
    numbers = below(bits(0, ids, "channel number"), 2**31).tolist()
    pages = [
        f"item.htm?query=1&channel_id={number}" if number % 10 else "item.htm?query=1" for number in numbers
    ]
    folders = [_folders(bits(0, ids, f"folder {place}")) for place in range(3)]
    return pa.array(names), join(
        "/", pa.repeat("https://www.nexmark.com", len(ids)), *folders, pa.array(pages)
    )


def _folders(random: Bits) -> pa.Array:
    """Names of five letters."""
    letters = _LETTERS[random.view(np.uint8).reshape(-1, 8)[:, :5] % len(_LETTERS)]
    return pa.array([row.tobytes().decode() for row in letters])
