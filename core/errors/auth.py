"""Who may not do or see something: 401xx, 403xx and 404xx."""

from core.errors.base import AgentexError
from core.errors.codes import ErrorCode


class NotAuthenticated(AgentexError):
    """No usable credential came with the request."""

    code = ErrorCode.NOT_AUTHENTICATED


class InvalidCredentials(AgentexError):
    """User name and password do not belong together."""

    code = ErrorCode.INVALID_CREDENTIALS


class InvalidToken(AgentexError):
    """A token or API key that was not issued here, is revoked or is of the wrong type."""

    code = ErrorCode.INVALID_TOKEN


class TokenExpired(AgentexError):
    """A token past its end."""

    code = ErrorCode.TOKEN_EXPIRED


class TokenReused(AgentexError):
    """A refresh token came twice: its whole family is revoked."""

    code = ErrorCode.TOKEN_REUSED


class AccountDisabled(AgentexError):
    """The account exists but may not be used."""

    code = ErrorCode.ACCOUNT_DISABLED


class PermissionDenied(AgentexError):
    """The caller's role lacks the permission in the details."""

    code = ErrorCode.PERMISSION_DENIED


class McpConnectionNotFound(AgentexError):
    """The caller has no MCP connection of this id."""

    code = ErrorCode.MCP_CONNECTION_NOT_FOUND


class McpToolNotFound(AgentexError):
    """The server of an MCP connection lists no tool of this name."""

    code = ErrorCode.MCP_TOOL_NOT_FOUND


class RegistrationDisabled(AgentexError):
    """The operator switched registration off."""

    code = ErrorCode.REGISTRATION_DISABLED


class ReadOnly(AgentexError):
    """The caller may see the object but not change it."""

    code = ErrorCode.READ_ONLY


class OwnerOnly(AgentexError):
    """The caller may change the object; who else may see it, and its end, are its owner's."""

    code = ErrorCode.OWNER_ONLY


class InvalidLink(AgentexError):
    """A signed link that is none of ours, was altered, or is not for this caller."""

    code = ErrorCode.INVALID_LINK


class LinkExpired(AgentexError):
    """A signed link past its end."""

    code = ErrorCode.LINK_EXPIRED


class ToolPolicyFixed(AgentexError):
    """The operator's bound on a tool: a person may be stricter, not freer."""

    code = ErrorCode.TOOL_POLICY_FIXED


class OriginNotAllowed(AgentexError):
    """A browser says that a page asks which the operator did not list."""

    code = ErrorCode.ORIGIN_NOT_ALLOWED


class NotFound(AgentexError):
    """No such thing, or not for this caller: the two can't be told apart."""

    code = ErrorCode.NOT_FOUND


class UserNotFound(NotFound):
    """No such user."""

    code = ErrorCode.USER_NOT_FOUND


class ApiKeyNotFound(NotFound):
    """No such API key of the caller."""

    code = ErrorCode.API_KEY_NOT_FOUND


class KnowledgeBaseNotFound(NotFound):
    """No such knowledge base for the caller."""

    code = ErrorCode.KNOWLEDGE_BASE_NOT_FOUND


class DocumentNotFound(NotFound):
    """No such document in this knowledge base."""

    code = ErrorCode.DOCUMENT_NOT_FOUND


class SessionNotFound(NotFound):
    """No such session of the caller."""

    code = ErrorCode.SESSION_NOT_FOUND


class ChunkNotFound(NotFound):
    """No such passage in this knowledge base."""

    code = ErrorCode.CHUNK_NOT_FOUND


class RunNotFound(NotFound):
    """No such run of the caller."""

    code = ErrorCode.RUN_NOT_FOUND


class QuestionNotFound(NotFound):
    """No such saved question in this knowledge base."""

    code = ErrorCode.QUESTION_NOT_FOUND


class EvaluationNotFound(NotFound):
    """No such evaluation of this knowledge base."""

    code = ErrorCode.EVALUATION_NOT_FOUND


class TransferNotFound(NotFound):
    """No such import or copy of the caller's."""

    code = ErrorCode.TRANSFER_NOT_FOUND


class ModelNotFound(NotFound):
    """No such model that the caller may use."""

    code = ErrorCode.MODEL_NOT_FOUND


class MemoryNotFound(NotFound):
    """No such memory of the caller's."""

    code = ErrorCode.MEMORY_NOT_FOUND


class RetrievalNotFound(NotFound):
    """No recorded retrieval of this id is the caller's."""

    code = ErrorCode.RETRIEVAL_NOT_FOUND


class CalendarEventNotFound(NotFound):
    """No such event in the caller's calendar."""

    code = ErrorCode.CALENDAR_EVENT_NOT_FOUND


class ConfigKeyNotFound(NotFound):
    """No setting of this name can be changed while the server runs; the details list those."""

    code = ErrorCode.CONFIG_KEY_NOT_FOUND


class CalendarFeedNotFound(NotFound):
    """The caller has made no feed, or nobody has one of this token."""

    code = ErrorCode.CALENDAR_FEED_NOT_FOUND


class RoleNotFound(NotFound):
    """No such role."""

    code = ErrorCode.ROLE_NOT_FOUND


class SkillNotFound(NotFound):
    """No such skill for the caller."""

    code = ErrorCode.SKILL_NOT_FOUND


class SkillVersionNotFound(NotFound):
    """The skill has no such version, or none that this caller may read."""

    code = ErrorCode.SKILL_VERSION_NOT_FOUND


class SkillFileNotFound(NotFound):
    """The version has no such file; the details name one that is like it."""

    code = ErrorCode.SKILL_FILE_NOT_FOUND
