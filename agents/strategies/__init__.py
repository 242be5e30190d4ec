"""The registry of agent types."""

from collections.abc import Callable, Sequence

from agents.run_context import RunContext
from agents.strategies.agentic_rag import AgenticRag
from agents.strategies.plan_execute import PlanExecute
from agents.strategies.react import React
from agents.strategies.reflexion import Reflexion
from agents.strategies.router import RouterStrategy
from agents.strategies.shared.base import Strategy, StrategyRun
from agents.strategies.shared.follow_up import FollowUpStrategy
from agents.strategies.shared.noop import NoOpStrategy
from core.errors.base import AgentexError
from core.errors.requests import UnknownAgentType

ROUTED: dict[str, type[Strategy]] = {
    "agentic_rag": AgenticRag,
    "plan_execute": PlanExecute,
    "react": React,
    "reflexion": Reflexion,
}
"""The agent types that ``worker`` picks from."""
STRATEGIES: dict[str, Callable[[RunContext], Strategy]] = {
    **ROUTED,
    "worker": lambda context: RouterStrategy(context, ROUTED),
}
DEFAULT_AGENT_TYPE = "agentic_rag"
REFLECTING = ("reflexion", "worker")
"""The agent types that go by what earlier runs of their thread reflected; ``worker`` may pick one."""


def require_known(agent_type: object) -> str:
    """The agent type if it exists; the error's details list the known types."""
    if not isinstance(agent_type, str) or agent_type not in STRATEGIES:
        raise UnknownAgentType(agent_type=str(agent_type)[:100], known=sorted(STRATEGIES))
    return agent_type


def start_strategy(agent_type: str, context: RunContext, follow_ups: Sequence[RunContext] = ()) -> StrategyRun:
    """A run of the agent type, which starts when its events are read.

    ``follow_ups`` are questions that are answered after it; their ``history`` is only what came before
    them and after the question before.
    """
    create = STRATEGIES[require_known(agent_type)]
    strategy = FollowUpStrategy(context, follow_ups, create) if follow_ups else create(context)
    return StrategyRun(strategy, agent_type)


def start_noop(context: RunContext, refused: AgentexError | None) -> StrategyRun:
    """A run that does nothing and ends, in an error if given."""
    return StrategyRun(NoOpStrategy(context, refused))
