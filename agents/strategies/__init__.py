"""The registry of agent types."""

from agents.strategies.agentic_rag import AgenticRag
from agents.strategies.base import Strategy, StrategyInput, StrategyRun
from core.errors import UnknownAgentType

STRATEGIES: dict[str, type[Strategy]] = {
    "agentic_rag": AgenticRag,
}
DEFAULT_AGENT_TYPE = "agentic_rag"


def start(agent_type: str, inputs: StrategyInput) -> StrategyRun:
    """A run of the agent type; it begins when its events are read.

    Raises:
        UnknownAgentType: No strategy of that name; the details list the known ones.
    """
    strategy = STRATEGIES.get(agent_type)
    if strategy is None:
        raise UnknownAgentType(agent_type=agent_type[:100], known=sorted(STRATEGIES))
    return StrategyRun(strategy(inputs))
