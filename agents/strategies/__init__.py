"""The registry of agent types."""

from agents.strategies.agentic_rag import AgenticRag
from agents.strategies.base import Strategy, StrategyInput, StrategyRun
from agents.strategies.react import React
from core.errors import UnknownAgentType

STRATEGIES: dict[str, type[Strategy]] = {
    "agentic_rag": AgenticRag,
    "react": React,
}
DEFAULT_AGENT_TYPE = "agentic_rag"


def require_known(agent_type: object) -> str:
    """The agent type, if there is one of that name.

    Raises:
        UnknownAgentType: No strategy of that name; the details list the known ones.
    """
    if not isinstance(agent_type, str) or agent_type not in STRATEGIES:
        raise UnknownAgentType(agent_type=str(agent_type)[:100], known=sorted(STRATEGIES))
    return agent_type


def start(agent_type: str, inputs: StrategyInput) -> StrategyRun:
    """A run of the agent type; it begins when its events are read.

    Raises:
        UnknownAgentType: No strategy of that name.
    """
    return StrategyRun(STRATEGIES[require_known(agent_type)](inputs))
