"""Nexmark: an auction site with new people, new auctions and bids, a few of each far more popular than the rest.

Of every 50 events one is a person, three are auctions and 46 are bids.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from thalweg.generate import words
from thalweg.generate.draws import Floats, Ids, below, one_in, unit
from thalweg.generate.generator import Generator
from thalweg.model.stream import Column

EPOCH, PEOPLE, AUCTIONS = 50, 1, 3
FIRST_ID, FIRST_CATEGORY, CATEGORIES = 1000, 10, 5
ACTIVE_PEOPLE, LEAD, HOT_EVERY = 1000, 10, 100


def _columns(declared: str) -> tuple[Column, ...]:
    pairs = (column.split() for column in declared.split(", "))
    return tuple(Column(name, type_) for name, type_ in pairs)


@dataclass(frozen=True)
class Nexmark(Generator):
    """The streams person, auction and bid; `keys` is the number of auctions open to bids at a time."""

    schemas: ClassVar[dict[str, tuple[Column, ...]]] = {
        "person": _columns(
            "id BIGINT, name VARCHAR, email VARCHAR, credit_card VARCHAR, city VARCHAR, state VARCHAR, at TIMESTAMP"
        ),
        "auction": _columns(
            "id BIGINT, item_name VARCHAR, description VARCHAR, initial_bid BIGINT, reserve BIGINT, expires TIMESTAMP, "
            "seller BIGINT, category BIGINT, at TIMESTAMP"
        ),
        "bid": _columns(
            "auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, at TIMESTAMP"
        ),
    }

    def tables(self, ids: Ids) -> dict[str, pa.Table]:
        """The events with these ids, in this order, by stream."""
        bid = ids % EPOCH >= PEOPLE + AUCTIONS
        rest = ids[~bid]
        person = rest % EPOCH < PEOPLE
        return {
            "person": self._person(rest[person]),
            "auction": self._auction(rest[~person]),
            "bid": self._bid(ids[bid]),
        }

    def _person(self, ids: Ids) -> pa.Table:
        id = FIRST_ID + ids // EPOCH
        first, last = (
            self._word(ids, "first name", words.FIRST_NAMES),
            self._word(ids, "last name", words.LAST_NAMES),
        )
        state = below(self._bits(ids, "state"), len(words.STATES))
        city = state * words.CITIES_PER_STATE + below(self._bits(ids, "city"), words.CITIES_PER_STATE)
        card = [self._word(ids, f"card {group}", words.FOUR_DIGITS) for group in range(4)]
        mailbox = words.join(".", first, last, pa.array(id).cast(pa.string()))
        return self._table(
            "person",
            id,
            words.join(" ", first, last),
            words.join("@", mailbox, self._word(ids, "mail", words.MAIL_DOMAINS)),
            words.join(" ", *card),
            words.pick(words.CITIES, city),
            words.pick(words.STATES, state),
            self.times(ids),
        )

    def _auction(self, ids: Ids) -> pa.Table:
        at = self.times(ids)
        item = words.join(
            " ", self._word(ids, "adjective", words.ADJECTIVES), self._word(ids, "thing", words.THINGS)
        )
        condition, origin = (
            self._word(ids, "condition", words.CONDITIONS),
            self._word(ids, "origin", words.ORIGINS),
        )
        initial = self._price(ids, "initial bid")
        return self._table(
            "auction",
            FIRST_ID + ids // EPOCH * AUCTIONS + ids % EPOCH - PEOPLE,
            item,
            words.join(", ", item, condition, origin),
            initial,
            initial + self._price(ids, "reserve"),
            at + 1 + below(self._bits(ids, "expires"), self._longest_auction),
            self._someone(ids, "seller", hot=0),
            FIRST_CATEGORY + below(self._bits(ids, "category"), CATEGORIES),
            at,
        )

    def _bid(self, ids: Ids) -> pa.Table:
        names, urls = words.channels()
        channel = self._channel(ids)
        return self._table(
            "bid",
            self._open_auction(ids),
            self._someone(ids, "bidder", hot=1),
            self._price(ids, "price"),
            words.pick(names, channel),
            words.pick(urls, channel),
            self.times(ids),
        )

    def _word(self, ids: Ids, field: str, choices: pa.Array) -> pa.Array:
        """One of the choices, uniformly."""
        return words.pick(choices, below(self._bits(ids, field), len(choices)))

    def _open_auction(self, ids: Ids) -> Ids:
        """Half the time the first of the current hundred auctions, else any of the last `keys` or the next ten."""
        random = self._bits(ids, "auction")
        last = ids // EPOCH * AUCTIONS + AUCTIONS - 1
        low = np.maximum(last - self.keys, 0)
        any_open = low + below(random, last - low + 1 + LEAD)
        return FIRST_ID + np.where(one_in(random, 2), last // HOT_EVERY * HOT_EVERY, any_open)

    def _someone(self, ids: Ids, field: str, hot: int) -> Ids:
        """Three times in four the person at place `hot` of the current hundred, else any of the last thousand or the next ten."""
        random = self._bits(ids, field)
        last = ids // EPOCH
        active = np.minimum(last + 1, ACTIVE_PEOPLE)
        anyone = last + 1 - active + below(random, active + LEAD)
        return FIRST_ID + np.where(one_in(random, 4), anyone, last // HOT_EVERY * HOT_EVERY + hot)

    def _price(self, ids: Ids, field: str) -> Ids:
        """Log-uniform from 100 to 100 million cents."""
        exponent = unit(self._bits(ids, field)) * (6 * math.log(10))
        cents: Floats = np.rint(np.exp(exponent) * 100)
        return cents.astype(np.int64)

    def _channel(self, ids: Ids) -> Ids:
        """Half the time one of the hot channels, else any of the others."""
        random = self._bits(ids, "channel")
        hot = len(words.HOT_CHANNELS)
        return np.where(one_in(random, 2), below(random, hot), hot + below(random, words.COLD_CHANNELS))

    @property
    def _longest_auction(self) -> int:
        """Twice the time in which `keys` auctions open, in microseconds."""
        return max(1, 2 * int(self.keys * EPOCH // AUCTIONS * self._step))
