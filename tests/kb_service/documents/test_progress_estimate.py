"""The estimate of the remaining time of open documents."""

from datetime import UTC, datetime, timedelta

import pytest

from kb_service.documents.progress import Backlog, WorkSample, estimate_seconds

START = datetime(2026, 1, 1, tzinfo=UTC)
NONE = Backlog(0, 0)


def work(size: int, since: float, until: float, *, percent: int = 100) -> WorkSample:
    return WorkSample(size, percent, START + timedelta(seconds=since), START + timedelta(seconds=until))


def test_nothing_open_takes_no_time():
    assert estimate_seconds([work(100, 0, 1)], NONE) == 0


def test_nobody_can_tell_without_anything_done():
    assert estimate_seconds([], Backlog(1, 100)) is None


def test_time_without_work_does_not_count():
    done = [work(100, 0, 1), work(100, 40, 41)]
    assert estimate_seconds(done, Backlog(3, 300)) == pytest.approx(3)


def test_what_overlaps_counts_once():
    done = [work(100, 0, 10), work(100, 0, 10), work(100, 5, 15), work(100, 6, 9)]
    assert estimate_seconds(done, Backlog(1, 400)) == pytest.approx(15)


def test_small_document_says_nothing_of_a_large_one_nor_a_large_one_of_small_ones():
    small, large = work(30, 0, 0.2), work(3_000_000, 10, 16)
    assert estimate_seconds([small], Backlog(1, 3_000_000)) is None
    assert estimate_seconds([large], Backlog(100, 3000)) is None
    assert estimate_seconds([small, large], Backlog(1, 3_000_000)) == pytest.approx(6)
    assert estimate_seconds([small, large], Backlog(100, 3000)) == pytest.approx(20)


def test_document_in_work_is_told_by_its_own_progress():
    small, half = work(30, 0, 0.2), work(3_000_000, 15, 18, percent=50)
    assert estimate_seconds([small, half], NONE) == pytest.approx(3)
    # Another one of its size waits.
    assert estimate_seconds([small, half], Backlog(1, 3_000_000)) == pytest.approx(9)


def test_files_without_bytes_and_times_that_run_backwards_are_borne():
    assert estimate_seconds([work(0, 0, 1)], Backlog(1, 0)) is None
    assert estimate_seconds([work(10, 5, 4, percent=50)], NONE) == 0
    assert estimate_seconds([work(10, 5, 4)], Backlog(1, 10)) == pytest.approx(0.1)
