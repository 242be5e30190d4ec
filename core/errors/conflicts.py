"""What does not fit the present state: 409xx."""

from core.errors.base import AgentexError
from core.errors.codes import ErrorCode


class McpNameTaken(AgentexError):
    """The owner has another MCP connection of this name."""

    code = ErrorCode.MCP_NAME_TAKEN


class McpSwitchedOff(AgentexError):
    """The owner has switched the MCP connection off."""

    code = ErrorCode.MCP_SWITCHED_OFF


class ApiKeysFull(AgentexError):
    """The account has as many API keys as are kept for one."""

    code = ErrorCode.API_KEYS_FULL


class McpConnectionsFull(AgentexError):
    """The owner has as many MCP connections as are kept for one."""

    code = ErrorCode.MCP_CONNECTIONS_FULL


class ReindexRunning(AgentexError):
    """The knowledge base is being re-indexed towards other settings."""

    code = ErrorCode.REINDEX_RUNNING


class ReindexNotReady(AgentexError):
    """Documents are left or failed; the details say how many."""

    code = ErrorCode.REINDEX_NOT_READY


class NoReindex(AgentexError):
    """Nothing to cut over, to cancel or to go back to."""

    code = ErrorCode.NO_REINDEX


class ReindexOver(AgentexError):
    """Nothing to cut over or to cancel, but settings to go back to."""

    code = ErrorCode.REINDEX_OVER


class NoQuestions(AgentexError):
    """There is nothing to measure with; the details say how that is mended."""

    code = ErrorCode.NO_QUESTIONS

    def __init__(self) -> None:
        super().__init__(
            next_action="Save some first: POST /api/v1/knowledge-bases/{kb_id}/questions, or "
            "agentex eval NAME --questions FILE",
            next_action_zh="请先保存问题：POST /api/v1/knowledge-bases/{kb_id}/questions，或 "
            "agentex eval NAME --questions FILE",
        )


class SettingsChanged(AgentexError):
    """A re-index took effect while the knowledge base was read."""

    code = ErrorCode.SETTINGS_CHANGED


class Conflict(AgentexError):
    """The object is not in the state the request needs."""

    code = ErrorCode.CONFLICT


class UsernameTaken(AgentexError):
    """Another account has this user name."""

    code = ErrorCode.USERNAME_TAKEN


class EmailTaken(AgentexError):
    """Another account has this e-mail address."""

    code = ErrorCode.EMAIL_TAKEN


class KnowledgeBaseNameTaken(AgentexError):
    """The owner has a knowledge base of this name already."""

    code = ErrorCode.KNOWLEDGE_BASE_NAME_TAKEN


class DocumentNameTaken(AgentexError):
    """Another document of the knowledge base has this name; the details say which."""

    code = ErrorCode.DOCUMENT_NAME_TAKEN


class ThreadBusy(AgentexError):
    """One run at a time per thread."""

    code = ErrorCode.THREAD_BUSY


class SessionArchived(AgentexError):
    """An archived session is read, not asked in."""

    code = ErrorCode.SESSION_ARCHIVED


class RunIdTaken(AgentexError):
    """The caller's run id belongs to an earlier run."""

    code = ErrorCode.RUN_ID_TAKEN


class InterruptsOpen(AgentexError):
    """The details name the interrupts that wait for answers."""

    code = ErrorCode.INTERRUPTS_OPEN


class InterruptNotOpen(AgentexError):
    """Never asked on this thread, or expired."""

    code = ErrorCode.INTERRUPT_NOT_OPEN


class InterruptAnswered(AgentexError):
    """It was answered before, in another way."""

    code = ErrorCode.INTERRUPT_ANSWERED


class ModelNameTaken(AgentexError):
    """Another registered model has the name."""

    code = ErrorCode.MODEL_NAME_TAKEN


class MemoryFull(AgentexError):
    """As many memories are kept for this person as are kept for anybody."""

    code = ErrorCode.MEMORY_FULL


class LastAdministrator(AgentexError):
    """Without this account nobody could administer the others any more."""

    code = ErrorCode.LAST_ADMINISTRATOR


class RoleBuiltIn(AgentexError):
    """Every installation has this role as it is."""

    code = ErrorCode.ROLE_BUILT_IN


class RoleInUse(AgentexError):
    """Accounts have this role."""

    code = ErrorCode.ROLE_IN_USE


class RoleNameTaken(AgentexError):
    """Another role has this name."""

    code = ErrorCode.ROLE_NAME_TAKEN


class UserOwnsThings(AgentexError):
    """The request does not say what becomes of what the account owns; the details count it."""

    code = ErrorCode.USER_OWNS_THINGS


class SessionsFull(AgentexError):
    """This person has as many sessions as anybody may have."""

    code = ErrorCode.SESSIONS_FULL


class SkillSlugTaken(AgentexError):
    """The owner has another skill of this slug; the details say which."""

    code = ErrorCode.SKILL_SLUG_TAKEN


class SkillChanged(AgentexError):
    """The skill has another version than the one that the change was made from."""

    code = ErrorCode.SKILL_CHANGED

    def __init__(self, *, version: int) -> None:
        super().__init__(field="base_version", version=version)


class SkillNotPublishable(AgentexError):
    """The skill has errors; the details list where."""

    code = ErrorCode.SKILL_NOT_PUBLISHABLE


class SkillReviewNeeded(AgentexError):
    """The skill was imported and nobody has reviewed it."""

    code = ErrorCode.SKILL_REVIEW_NEEDED


class SkillNotPending(AgentexError):
    """No version of the skill waits for a review."""

    code = ErrorCode.SKILL_NOT_PENDING


class SkillsFull(AgentexError):
    """This person has as many skills as anybody may have."""

    code = ErrorCode.SKILLS_FULL


class SkillNotExportable(AgentexError):
    """A skill that is no folder of the open standard can be made of; the details say why."""

    code = ErrorCode.SKILL_NOT_EXPORTABLE
