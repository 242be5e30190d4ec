"""Knowledge bases that a search goes on without, because their embedding model is away."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import (
    AgentexError,
    EmbeddingModelNotServed,
    EmbeddingsRefused,
    EmbeddingsUnavailable,
    ErrorCode,
    InvalidVector,
)
from kb_service.text.visible import visible

MODEL_ERRORS = (EmbeddingModelNotServed, EmbeddingsRefused, EmbeddingsUnavailable, InvalidVector)
"""What is wrong with one embedding model alone: knowledge bases of the others can be searched."""

_MOST_NAMED = 10

_WHY = {
    ErrorCode.EMBEDDING_MODEL_NOT_SERVED: (
        "embedding_model_not_configured",
        "The embedding model {model} is not configured on the server",
        "服务器未配置嵌入模型 {model}",
    ),
    ErrorCode.EMBEDDINGS_UNAVAILABLE: (
        "embedding_endpoint_unavailable",
        "The endpoint of the embedding model {model} gave no usable answer",
        "嵌入模型 {model} 的接口没有给出可用的结果",
    ),
    ErrorCode.EMBEDDINGS_REFUSED: (
        "embedding_refused",
        "The endpoint of the embedding model {model} refused the query",
        "嵌入模型 {model} 的接口拒绝了该查询",
    ),
    ErrorCode.INVALID_VECTOR: (
        "embedding_model_misfit",
        "The embedding model {model} sends other vectors than the server's settings say",
        "嵌入模型 {model} 返回的向量与服务器设置不符",
    ),
}


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
        return _WHY[self.error.code][0]

    @property
    def message(self) -> str:
        """Which knowledge bases, which model and why, in English."""
        named = ", ".join(f'"{name}"' for name in self._named())
        others = f" and {self._unnamed} more" if self._unnamed else ""
        why = _WHY[self.error.code][1].format(model=self.model)
        return f"Not searched: {named}{others}. {why}"

    @property
    def message_zh(self) -> str:
        """The same in Chinese."""
        named = "、".join(f"“{name}”" for name in self._named())
        others = f"等 {len(self.names)} 个知识库" if self._unnamed else ""
        why = _WHY[self.error.code][2].format(model=self.model)
        return f"未检索：{named}{others}。{why}"

    @property
    def _unnamed(self) -> int:
        return max(0, len(self.names) - _MOST_NAMED)

    def _named(self) -> list[str]:
        return [visible(name) for name in self.names[:_MOST_NAMED]]
