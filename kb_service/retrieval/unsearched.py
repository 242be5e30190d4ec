"""Knowledge bases that a search goes on without, because their embedding model is away."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import AgentexError
from core.text.visible import visible
from kb_service.failures import Outage, outage_of_model

_MOST_NAMED = 10


@dataclass(frozen=True)
class Unsearched:
    """A warning: these knowledge bases are not in the answer, in words for a person.

    Args:
        names: of the knowledge bases.
        model: their embedding model.
        error: one of ``MODEL_ERRORS``.
    """

    names: Sequence[str]
    model: str
    error: AgentexError

    @property
    def code(self) -> str:
        """What is wrong with the model."""
        return self._why.reason

    @property
    def message(self) -> str:
        """Which knowledge bases, which model and why, in English."""
        named = ", ".join(f'"{name}"' for name in self._named())
        others = f" and {self._unnamed} more" if self._unnamed else ""
        return f"Not searched: {named}{others}. {self._why.message}"

    @property
    def message_zh(self) -> str:
        """The same in Chinese."""
        named = "、".join(f"“{name}”" for name in self._named())
        others = f"等 {len(self.names)} 个知识库" if self._unnamed else ""
        return f"未检索：{named}{others}。{self._why.message_zh}"

    @property
    def _why(self) -> Outage:
        return outage_of_model(self.error, self.model)

    @property
    def _unnamed(self) -> int:
        return max(0, len(self.names) - _MOST_NAMED)

    def _named(self) -> list[str]:
        return [visible(name) for name in self.names[:_MOST_NAMED]]
