"""Which files of the state are rewritten, and when."""

from __future__ import annotations

from thalweg.state.compaction import EDGE, FAN, FEW, SMALL, are_few, to_merge, to_rewrite
from thalweg.state.manifest import StateFile


def file(low: int, high: int, rows: int = 10) -> StateFile:
    return StateFile("f", f"{low}-{high}-{rows}", 0, 1, low, high, rows, rows)


def test_small_files_are_merged_several_at_a_time() -> None:
    assert to_merge([file(i, i) for i in range(FAN - 1)]) == ()
    assert len(to_merge([file(i, i) for i in range(FAN)])) == FAN


def test_files_of_a_full_block_become_one() -> None:
    old, newest = [file(i, i) for i in range(FEW + 1)], [file(20, 20)]
    assert to_rewrite([*old, *newest], 0, 10) == (tuple(old),)
    assert to_rewrite([*old[1:], *newest], 0, 10) == ()


def test_blocks_that_may_still_grow_are_merged_like_any_files() -> None:
    late, newest = [file(i, i + 1) for i in range(FAN)], [file(10, 10)]
    assert to_rewrite([*late[1:], *newest], 0, 10) == ()
    assert to_rewrite([*late, *newest], 0, 10) == (tuple(late),)


def test_files_of_different_blocks_stay_apart() -> None:
    assert to_rewrite([file(10 * i, 10 * i + 9) for i in range(50)], 0, 10) == ()


def test_files_wider_than_a_block_are_merged_too() -> None:
    wide = [file(i, i + 30) for i in range(FAN)]
    assert to_rewrite(wide, 0, 10) == (tuple(wide),)


def test_a_file_at_the_edge_is_cut_when_a_part_of_it_has_expired() -> None:
    wide = file(0, 10 * EDGE - 1)
    assert to_rewrite([wide], 9, 10) == ()
    assert to_rewrite([wide], 10, 10) == ((wide,),)


def test_few_rows_are_one_file() -> None:
    assert are_few([file(0, 1, SMALL - 5)], 5)
    assert not are_few([file(0, 1, SMALL - 5)], 6)
