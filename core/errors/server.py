"""What the server or a service behind it could not do: 5xxxx."""

from core.errors.base import AgentexError
from core.errors.codes import ErrorCode


class InvalidVector(AgentexError):
    """A vector that is not finite or of another dimension than the index; nothing was written."""

    code = ErrorCode.INVALID_VECTOR


class RunTimedOut(AgentexError):
    """The run was ended at its deadline."""

    code = ErrorCode.RUN_TIMED_OUT


class ModelFailed(AgentexError):
    """The language model endpoint refused, timed out or broke off."""

    code = ErrorCode.MODEL_FAILED


class VectorIndexUnavailable(AgentexError):
    """The vector index did not answer."""

    code = ErrorCode.VECTOR_INDEX_UNAVAILABLE


class EngineUnavailable(AgentexError):
    """The engine process did not answer."""

    code = ErrorCode.ENGINE_UNAVAILABLE


class EmbeddingsRefused(AgentexError):
    """An embedding endpoint will never take this text or request, however often it is sent."""

    code = ErrorCode.EMBEDDINGS_REFUSED


class EmbeddingsUnavailable(AgentexError):
    """An embedding endpoint could not be reached, or its answers could not be used."""

    code = ErrorCode.EMBEDDINGS_UNAVAILABLE


class UnusableSetting(AgentexError):
    """A setting says something that can't be; the details name it."""

    code = ErrorCode.UNUSABLE_SETTING


class EmbeddingModelNotServed(AgentexError):
    """A knowledge base names a model that the operator has taken out of the settings."""

    code = ErrorCode.EMBEDDING_MODEL_NOT_SERVED


class EmbeddingModelUnusable(AgentexError):
    """The engine runs, but could not load a model or open its index; the details say why."""

    code = ErrorCode.EMBEDDING_MODEL_UNUSABLE


class RerankerUnavailable(AgentexError):
    """The rerank endpoint did not answer, or not in its protocol; searches go on without it."""

    code = ErrorCode.RERANKER_UNAVAILABLE


class McpUnavailable(AgentexError):
    """An MCP server could not be used; the details say why, in our words."""

    code = ErrorCode.MCP_UNAVAILABLE


class McpResultTooLarge(AgentexError):
    """An MCP server answered with more than is read."""

    code = ErrorCode.MCP_RESULT_TOO_LARGE


class McpRefused(AgentexError):
    """An MCP server answered a call with an error of the protocol's."""

    code = ErrorCode.MCP_REFUSED


class ObjectStoreUnavailable(AgentexError):
    """The object store did not answer."""

    code = ErrorCode.OBJECT_STORE_UNAVAILABLE


class ServerUnreachable(AgentexError):
    """The terminal client got no answer from the server at the URL in the details."""

    code = ErrorCode.SERVER_UNREACHABLE


class ShuttingDown(AgentexError):
    """The process is draining."""

    code = ErrorCode.SHUTTING_DOWN


class DatabaseUnavailable(AgentexError):
    """The database did not answer."""

    code = ErrorCode.DATABASE_UNAVAILABLE


class DatabaseFull(DatabaseUnavailable):
    """The database has no room for what was to be written."""

    code = ErrorCode.STORAGE_FULL


class StorageFull(AgentexError):
    """No room left for the bytes; nothing was kept."""

    code = ErrorCode.STORAGE_FULL


class RunLost(AgentexError):
    """The process that drove a run died before the run ended."""

    code = ErrorCode.RUN_LOST
