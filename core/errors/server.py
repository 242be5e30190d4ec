"""Errors of the server or a service behind it: 5xxxx."""

from core.errors.base import AgentexError


class InvalidVector(AgentexError):
    """A vector that is not finite or of another dimension than the index; nothing was written."""

    code = 50004
    message = "A vector does not fit the index"
    message_zh = "向量与索引不匹配"


class RunTimedOut(AgentexError):
    """The run was ended at its deadline."""

    code = 50002
    message = "The run took too long"
    message_zh = "运行超时"


class ModelFailed(AgentexError):
    """The language model endpoint refused, timed out or broke off."""

    code = 50201
    message = "The language model failed"
    message_zh = "语言模型调用失败"


class VectorIndexUnavailable(AgentexError):
    """The vector index did not answer."""

    code = 50202
    message = "The vector index can't be reached"
    message_zh = "向量索引不可用"


class EngineUnavailable(AgentexError):
    """The engine process did not answer."""

    code = 50203
    message = "The embedding engine can't be reached"
    message_zh = "嵌入引擎不可用"


class EmbeddingsRefused(AgentexError):
    """An embedding endpoint permanently refuses this text or request."""

    code = 50005
    message = "The embedding endpoint refused a text"
    message_zh = "嵌入服务拒绝了一段文本"


class EmbeddingsUnavailable(AgentexError):
    """An embedding endpoint could not be reached, or its responses could not be used."""

    code = 50207
    message = "The embedding endpoint gave no usable answer"
    message_zh = "嵌入服务没有给出可用的结果"


class UnusableSetting(AgentexError):
    """A setting has an unusable value; the details name it."""

    code = 50006
    message = "A setting can't be used"
    message_zh = "某项设置无法使用"


class EmbeddingModelNotServed(AgentexError):
    """A knowledge base names a model that the operator has removed from the settings."""

    code = 50206
    message = "This knowledge base's embedding model is not configured on the server"
    message_zh = "服务器未配置该知识库的嵌入模型"


class EmbeddingModelUnusable(AgentexError):
    """The engine runs, but could not load a model or open its index; the details say why."""

    code = 50208
    message = "The engine could not load this knowledge base's embedding model"
    message_zh = "引擎未能加载该知识库的嵌入模型"


class ParserServiceUnavailable(AgentexError):
    """A parsing service could not be reached or is too busy; the details name it."""

    code = 50209
    message = "The parsing service can't be reached"
    message_zh = "解析服务不可用"


class RerankerUnavailable(AgentexError):
    """The rerank endpoint did not answer in its protocol; searches go on without it."""

    code = 50230
    message = "The reranker did not answer"
    message_zh = "重排序服务未响应"


class McpUnavailable(AgentexError):
    """An MCP server could not be used; the details say why, in our words."""

    code = 50290
    message = "The MCP server can't be used"
    message_zh = "MCP 服务器不可用"


class McpResultTooLarge(AgentexError):
    """An MCP server's result is larger than the limit."""

    code = 50291
    message = "The MCP server's answer is too large"
    message_zh = "MCP 服务器的响应过大"


class McpRefused(AgentexError):
    """An MCP server answered a call with a protocol error."""

    code = 50292
    message = "The MCP server refused the call"
    message_zh = "MCP 服务器拒绝了调用"


class McpAuthorizationFailed(AgentexError):
    """An authorization server could not be found or used, or gave no tokens; the details say why, in our words."""

    code = 50293
    message = "The authorisation of the MCP server failed"
    message_zh = "MCP 服务器的授权失败"


class ObjectStoreUnavailable(AgentexError):
    """The object store did not answer."""

    code = 50204
    message = "The object store can't be reached"
    message_zh = "对象存储不可用"


class ServerUnreachable(AgentexError):
    """The terminal client got no answer from the server at the URL in the details."""

    code = 50205
    message = "The Agentex server can't be reached"
    message_zh = "无法连接 Agentex 服务器"


class ShuttingDown(AgentexError):
    """The process is draining."""

    code = 50301
    message = "The server is shutting down"
    message_zh = "服务器正在关闭"


class DatabaseUnavailable(AgentexError):
    """The database did not answer."""

    code = 50302
    message = "The database can't be reached"
    message_zh = "数据库不可用"


class StorageFull(AgentexError):
    """No space left for the bytes; nothing was stored."""

    code = 50701
    message = "The storage is full"
    message_zh = "存储空间不足"


class DatabaseFull(DatabaseUnavailable, same_as=StorageFull):
    """The database has no space left."""


class RunLost(AgentexError):
    """The process of a run died before the run ended."""

    code = 50003
    message = "The process that drove the run stopped"
    message_zh = "执行该运行的进程已停止"
