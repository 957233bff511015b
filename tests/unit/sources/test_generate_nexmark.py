"""Nexmark: ids, proportions, popular auctions and people, prices, lengths of auctions, strings."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from thalweg.generate import Nexmark, words

EVENTS = 500_000
RATE = 10_000


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    return next(Nexmark(EVENTS, rate=RATE, seed=1).chunks(EVENTS))


def column(table: pa.Table, name: str) -> np.ndarray:
    return np.asarray(table[name].to_numpy())


def micros(table: pa.Table, name: str) -> np.ndarray:
    return np.asarray(table[name].cast(pa.int64()).to_numpy())


def bid_ids() -> np.ndarray:
    ids = np.arange(EVENTS)
    return ids[ids % 50 >= 4]


def test_schema(tables: dict[str, pa.Table]) -> None:
    arrow = {"BIGINT": pa.int64(), "VARCHAR": pa.string(), "TIMESTAMP": pa.timestamp("us")}
    for stream, columns in Nexmark.schemas.items():
        assert tables[stream].schema == pa.schema([(c.name, arrow[c.type]) for c in columns])
        assert all(tables[stream][c.name].null_count == 0 for c in columns)
        tables[stream].validate(full=True)


def test_of_fifty_events_one_is_a_person_three_are_auctions(tables: dict[str, pa.Table]) -> None:
    assert {stream: table.num_rows * 50 // EVENTS for stream, table in tables.items()} == {
        "person": 1,
        "auction": 3,
        "bid": 46,
    }


def test_ids_count_up_from_1000(tables: dict[str, pa.Table]) -> None:
    for stream in ("person", "auction"):
        ids = column(tables[stream], "id")
        assert (ids == 1000 + np.arange(len(ids))).all()


def test_event_times_keep_the_pace(tables: dict[str, pa.Table]) -> None:
    assert tables["person"]["at"][0].as_py() == datetime(2023, 11, 14, 22, 13, 20)
    assert tables["auction"]["at"][0].as_py() == datetime(2023, 11, 14, 22, 13, 20, 100)
    assert (micros(tables["bid"], "at") == 1_700_000_000_000_000 + bid_ids() * 100).all()


def test_uneven_rate_keeps_whole_microseconds_without_drift() -> None:
    times = Nexmark(10, rate=3).times(np.array([0, 1, 2, 3, 3_000_000])) - 1_700_000_000_000_000
    assert times.tolist() == [0, 333_333, 666_666, 1_000_000, 10**12]


def test_hot_auction_gets_half_the_bids_and_moves_on(tables: dict[str, pa.Table]) -> None:
    auction, last = column(tables["bid"], "auction") - 1000, bid_ids() // 50 * 3 + 2
    hot = auction == last // 100 * 100
    assert abs(hot.mean() - 0.5) < 0.01
    assert len(np.unique(auction[hot])) == EVENTS // 50 * 3 // 100


def test_other_bids_go_to_open_auctions(tables: dict[str, pa.Table]) -> None:
    ids, auction = bid_ids(), column(tables["bid"], "auction") - 1000
    last = ids // 50 * 3 + 2
    cold = (auction != last // 100 * 100) & (last > 100)
    ahead = (auction - last)[cold]
    assert (ahead.min(), ahead.max()) == (-100, 10)
    share = np.bincount(ahead + 100) / len(ahead)
    assert abs(share - 1 / 111).max() < 0.002


def test_number_of_open_auctions_is_a_choice() -> None:
    bids = Nexmark(EVENTS, rate=RATE, keys=7).tables(bid_ids())["bid"]
    last = bid_ids() // 50 * 3 + 2
    cold = column(bids, "auction") - 1000 != last // 100 * 100
    ahead = (column(bids, "auction") - 1000 - last)[cold & (last > 100)]
    assert (ahead.min(), ahead.max()) == (-7, 10)


@pytest.mark.parametrize(("stream", "name", "place"), [("bid", "bidder", 1), ("auction", "seller", 0)])
def test_hot_people_act_three_times_in_four(
    tables: dict[str, pa.Table], stream: str, name: str, place: int
) -> None:
    ids = np.arange(EVENTS)
    ids = ids[ids % 50 >= 4] if stream == "bid" else ids[(ids % 50 >= 1) & (ids % 50 < 4)]
    person, last = column(tables[stream], name) - 1000, ids // 50
    hot = person == last // 100 * 100 + place
    assert abs(hot.mean() - 0.75) < 0.01
    ahead = (person - last)[~hot & (last >= 1000)]
    assert (ahead.min(), ahead.max()) == (-999, 10)
    early = person[last < 5]
    assert early.min() == 0 and early.max() <= 14


def test_prices_are_log_uniform(tables: dict[str, pa.Table]) -> None:
    price = column(tables["bid"], "price")
    assert 100 <= price.min() < 101 and 99_000_000 < price.max() <= 100_000_000
    shares, _ = np.histogram(np.log10(price / 100), bins=6, range=(0, 6))
    assert abs(shares / len(price) - 1 / 6).max() < 0.01


def test_reserve_is_above_the_initial_bid(tables: dict[str, pa.Table]) -> None:
    auction = tables["auction"]
    assert (column(auction, "reserve") - column(auction, "initial_bid")).min() >= 100


def test_auctions_last_up_to_twice_the_time_of_1666_events(tables: dict[str, pa.Table]) -> None:
    length = micros(tables["auction"], "expires") - micros(tables["auction"], "at")
    longest = 2 * 1666 * 100
    assert 1 <= length.min() < longest * 0.01 and longest * 0.99 < length.max() <= longest
    assert abs(length.mean() / longest - 0.5) < 0.01


def test_categories_are_10_to_14(tables: dict[str, pa.Table]) -> None:
    values, counts = np.unique(column(tables["auction"], "category"), return_counts=True)
    assert values.tolist() == [10, 11, 12, 13, 14]
    assert abs(counts / counts.sum() - 0.2).max() < 0.01


def test_states_are_uniform_and_cities_are_in_them(tables: dict[str, pa.Table]) -> None:
    person = tables["person"]
    states = {row["values"]: row["counts"] for row in person["state"].value_counts().to_pylist()}
    assert sorted(states) == ["AZ", "CA", "ID", "OR", "WA", "WY"]
    assert all(abs(count / person.num_rows - 1 / 6) < 0.02 for count in states.values())
    places = set(zip(person["city"].to_pylist(), person["state"].to_pylist(), strict=True))
    assert len(places) == 12 and ("Seattle", "WA") in places


def test_people_have_names_mail_and_cards(tables: dict[str, pa.Table]) -> None:
    person = tables["person"]
    patterns = {
        "name": r"^\w+ \w+$",
        "email": r"^\w+\.\w+\.\d+@example\.(com|net|org)$",
        "credit_card": r"^(\d{4} ){3}\d{4}$",
    }
    for name, pattern in patterns.items():
        assert pc.all(pc.match_substring_regex(person[name], pattern)).as_py()
    assert pc.count_distinct(person["email"]).as_py() == person.num_rows


def test_channels_are_hot_half_the_time(tables: dict[str, pa.Table]) -> None:
    channel = tables["bid"]["channel"]
    hot = pc.is_in(channel, pa.array(words.HOT_CHANNELS)).to_numpy()
    assert abs(hot.mean() - 0.5) < 0.01
    assert pc.all(pc.match_substring_regex(channel.filter(~hot), r"^channel-\d{1,4}$")).as_py()
    assert pc.count_distinct(channel).as_py() == 10_004


def test_urls_belong_to_channels_and_most_name_them(tables: dict[str, pa.Table]) -> None:
    bid = tables["bid"]
    pattern = r"^https://www\.nexmark\.com/[a-z]{5}/[a-z]{5}/[a-z]{5}/item\.htm\?query=1(&channel_id=\d+)?$"
    assert pc.all(pc.match_substring_regex(bid["url"], pattern)).as_py()
    pairs = bid.group_by(["channel", "url"]).aggregate([])
    assert pairs.num_rows == 10_004
    assert abs(pc.match_substring(pairs["url"], "channel_id").to_numpy().mean() - 0.9) < 0.02


def test_any_event_can_be_made_alone(tables: dict[str, pa.Table]) -> None:
    alone = Nexmark(EVENTS, rate=RATE, seed=1).tables(np.array([123_456]))
    assert (
        alone["bid"].to_pylist()
        == tables["bid"].slice(int(np.searchsorted(bid_ids(), 123_456)), 1).to_pylist()
    )
    assert alone["person"].num_rows == alone["auction"].num_rows == 0


@pytest.mark.parametrize("size", [13, 49, 1000])
def test_chunks_of_any_size_give_the_same_events(size: int) -> None:
    generator = Nexmark(3000, rate=1000, disorder=0.5, late=0.01, seed=3)
    whole, chunks = next(generator.chunks(3000)), list(generator.chunks(size))
    for stream, table in whole.items():
        assert pa.concat_tables(chunk[stream] for chunk in chunks) == table.combine_chunks()
    assert all(sum(table.num_rows for table in chunk.values()) == size for chunk in chunks[:-1])


def test_seed_decides_everything() -> None:
    one, same, other = (next(Nexmark(1000, seed=seed).chunks(1000)) for seed in (1, 1, 2))
    assert one == same
    assert all(one[stream] != other[stream] for stream in one)


def test_values_stay_as_they_are_from_version_to_version() -> None:
    tables = Nexmark(50).tables(np.arange(50))
    assert tables["person"].select(["id", "city", "state"]).to_pylist() == [PERSON]
    assert tables["auction"].select(["initial_bid", "seller", "category"]).slice(0, 1).to_pylist() == [
        AUCTION
    ]
    assert tables["bid"].select(["auction", "bidder", "price", "channel"]).slice(0, 1).to_pylist() == [BID]


PERSON = {"id": 1000, "city": "Nampa", "state": "ID"}
AUCTION = {"initial_bid": 42252381, "seller": 1008, "category": 12}
BID = {"auction": 1000, "bidder": 1001, "price": 1170986, "channel": "channel-441"}
