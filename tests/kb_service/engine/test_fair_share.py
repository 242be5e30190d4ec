"""The fair share between owners in the engine."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_service.engine import scheduler
from kb_service.engine.scheduler import FairQueue


@dataclass(frozen=True)
class Piece:
    account: str
    number: int = 0
    seconds: float = 0.01


def serve(waiting: FairQueue[Piece], seconds: float, *, busy: dict[str, float]) -> dict[str, float]:
    """Serve for so long accounts that always have more to do, in pieces of these lengths."""
    had = dict.fromkeys(busy, 0.0)
    for account in busy:
        waiting.put(Piece(account))
    while sum(had.values()) < seconds:
        account = waiting.take().account
        waiting.charge(account, busy[account])
        had[account] += busy[account]
        waiting.put(Piece(account))
    while waiting:
        waiting.take()
    return had


@given(st.lists(st.floats(0.001, 0.1), min_size=2, max_size=5))
def test_accounts_that_always_have_work_get_equal_time_whatever_their_pieces(lengths: list[float]):
    busy = {f"account {n}": length for n, length in enumerate(lengths)}
    had = serve(FairQueue(), 20.0, busy=busy)
    assert max(had.values()) - min(had.values()) <= 2 * max(lengths) + 1e-6


def test_newcomer_goes_first_until_its_credit_is_used_and_has_half_from_then_on():
    waiting = FairQueue[Piece](credit=1.0)
    serve(waiting, 100.0, busy={"many": 0.01})
    assert serve(waiting, 0.9, busy={"many": 0.01, "single": 0.01})["many"] <= 0.02
    had = serve(waiting, 10.0, busy={"many": 0.01, "single": 0.01})
    assert had["single"] == pytest.approx(5, abs=0.2)


def test_who_pauses_again_and_again_gets_no_more_than_a_share():
    waiting = FairQueue[Piece](credit=1.0)
    had = {"many": 0.0, "single": 0.0}
    waiting.put(Piece("many"))
    for turn in range(4000):
        # Comes anew for each of its pieces.
        if turn % 2 == 0:
            waiting.put(Piece("single"))
        account = waiting.take().account
        waiting.charge(account, 0.01)
        had[account] += 0.01
        if account == "many":
            waiting.put(Piece("many"))
    assert had["many"] >= 19
    assert had["single"] <= 21


def test_within_an_account_who_comes_first_is_first_and_what_is_taken_back_does_not_come():
    waiting = FairQueue[Piece]()
    for number in range(4):
        waiting.put(Piece("one", number))
    waiting.remove(Piece("one", 2))
    assert [waiting.take().number for _ in range(3)] == [0, 1, 3]
    assert not waiting


def test_who_is_gone_for_long_is_forgotten(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scheduler, "_MOST_REMEMBERED", 10)
    waiting = FairQueue[Piece](credit=0.0)
    for number in range(1000):
        waiting.put(Piece(f"account {number}"))
        waiting.charge(waiting.take().account, 0.01)
    assert len(waiting._used) <= 12


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["put", "take", "charge"])), max_size=60))
def test_nothing_that_waits_is_lost_or_doubled(acts: list[tuple[str, str]]):
    waiting, inside, number = FairQueue[Piece](), [], 0
    for account, act in acts:
        if act == "put":
            number += 1
            inside.append(Piece(account, number))
            waiting.put(inside[-1])
        elif act == "charge":
            waiting.charge(account, 0.5)
        elif inside:
            inside.remove(waiting.take())
        assert bool(waiting) == bool(inside)
    while waiting:
        inside.remove(waiting.take())
    assert inside == []
