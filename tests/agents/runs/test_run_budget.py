"""Budgets of single runs, which narrow the server's limits and never widen them."""

from hypothesis import given
from hypothesis import strategies as st

from agents.run_context import RunLimits, limits_for_timeout, narrow_limits
from agents.run_request import RunBudget

BUDGETS = st.builds(
    RunBudget,
    max_turns=st.none() | st.integers(1, 1_000),
    max_tokens=st.none() | st.integers(1_000, 10_000_000),
    timeout_seconds=st.none() | st.integers(5, 3_600),
)
LIMITS = st.builds(
    limits_for_timeout, st.floats(1, 4_000), max_turns=st.integers(1, 100), max_tokens=st.integers(1, 1_000_000)
)


def bounds(limits: RunLimits) -> tuple[float, ...]:
    return (limits.timeout_seconds, limits.acting_seconds, limits.max_turns, limits.max_tokens)


@given(LIMITS, BUDGETS)
def test_budget_never_widens_a_limit(limits: RunLimits, budget: RunBudget):
    narrow = narrow_limits(limits, budget)
    assert all(mine <= servers for mine, servers in zip(bounds(narrow), bounds(limits), strict=True))
    for value, most in (
        (narrow.timeout_seconds, budget.timeout_seconds),
        (narrow.max_turns, budget.max_turns),
        (narrow.max_tokens, budget.max_tokens),
    ):
        assert most is None or value <= most * (1 + 1e-9)
    # Time is left for the answer as before.
    assert narrow.acting_seconds < narrow.timeout_seconds


@given(LIMITS)
def test_run_without_a_budget_has_the_servers_limits(limits: RunLimits):
    assert narrow_limits(limits, None) == narrow_limits(limits, RunBudget()) == limits
