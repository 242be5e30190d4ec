"""What is wrong with a request: 400xx, 413xx, 422xx and 429xx."""

from core.errors.base import AgentexError
from core.errors.codes import ErrorCode


class InvalidRequest(AgentexError):
    """A field of the request has a value that can't be used.

    Args:
        field: the path to it.
        error: what is wrong, or what can be used.
        error_zh: the same in Chinese.
    """

    code = ErrorCode.INVALID_REQUEST

    def __init__(self, field: str, error: str, error_zh: str = "") -> None:
        super().__init__(field=field, error=error, **({"error_zh": error_zh} if error_zh else {}))


class MalformedJson(AgentexError):
    """The body can't be read as JSON."""

    code = ErrorCode.MALFORMED_JSON


class InvalidPagination(AgentexError):
    """A page, page size or sort field out of range."""

    code = ErrorCode.INVALID_PAGINATION


class EmptyFile(AgentexError):
    """An upload of zero bytes or of blanks only."""

    code = ErrorCode.EMPTY_FILE


class UnsupportedFileType(AgentexError):
    """No parser reads this kind of file."""

    code = ErrorCode.UNSUPPORTED_FILE_TYPE


class FileTypeMismatch(AgentexError):
    """The bytes are of another kind than the name says."""

    code = ErrorCode.FILE_TYPE_MISMATCH


class CorruptImage(AgentexError):
    """An image that can't be decoded, or not within bounds of time and memory."""

    code = ErrorCode.CORRUPT_IMAGE


class ImageTooLarge(AgentexError):
    """An image with more pixels than are decoded."""

    code = ErrorCode.IMAGE_TOO_LARGE


class TextTooLarge(AgentexError):
    """A plain text with more characters than one document may have."""

    code = ErrorCode.TEXT_TOO_LARGE


class TextRecognitionMissing(AgentexError):
    """A picture was uploaded, and the extra that reads pictures is not installed."""

    code = ErrorCode.TEXT_RECOGNITION_MISSING


class ArchiveLimits(AgentexError):
    """An archive, or a document that is one, with more members, data or ratio than is allowed."""

    code = ErrorCode.ARCHIVE_LIMITS


class ArchiveMemberRefused(AgentexError):
    """A member of an archive that is a link, a second one of its name, locked or an archive."""

    code = ErrorCode.ARCHIVE_MEMBER_REFUSED


class CorruptArchive(AgentexError):
    """An archive that can't be read."""

    code = ErrorCode.CORRUPT_ARCHIVE


class InvalidFileName(AgentexError):
    """Nothing usable is left of the file name."""

    code = ErrorCode.INVALID_FILE_NAME


class UnreadableFile(AgentexError):
    """A file has no text, is broken or takes too long; the details say which and what helps."""

    code = ErrorCode.UNREADABLE_FILE


class PreviewBusy(AgentexError):
    """Other previews took so long that this one's turn did not come."""

    code = ErrorCode.PREVIEW_BUSY


class QueryTooLong(AgentexError):
    """The query has more characters than the limit in the details."""

    code = ErrorCode.QUERY_TOO_LONG


class EmptyQuery(AgentexError):
    """The query has no characters to search for."""

    code = ErrorCode.EMPTY_QUERY


class UnknownEmbeddingModel(AgentexError):
    """No encoder of this name is known here."""

    code = ErrorCode.UNKNOWN_EMBEDDING_MODEL


class WeakPassword(AgentexError):
    """The password breaks a rule named in the details."""

    code = ErrorCode.WEAK_PASSWORD


class UnknownAgentType(AgentexError):
    """No strategy is registered under this agent type."""

    code = ErrorCode.UNKNOWN_AGENT_TYPE


class InvalidRunInput(AgentexError):
    """The AG-UI run input can't be run; the details name the field."""

    code = ErrorCode.INVALID_RUN_INPUT


class RejectedRunInput(AgentexError):
    """The input of an asynchronous run breaks a rule of seed 000, which words its message.

    Args:
        message: the contract's own words, the same in every language.
        message_zh: the same in Chinese, for people; it goes into the details.
        field: where.
        details: more facts.
    """

    code = ErrorCode.REJECTED_RUN_INPUT

    def __init__(self, message: str, *, message_zh: str, field: str, **details: object) -> None:
        super().__init__(field=field, message_zh=message_zh, **details)
        self.message = message


class InvalidCursor(AgentexError):
    """A place to go on from that is none of this event stream; nothing is skipped instead."""

    code = ErrorCode.INVALID_CURSOR


class InvalidArchive(AgentexError):
    """A file that is no knowledge base of a version known here, or breaks a limit.

    Args:
        reason: which rule it breaks, in English.
    """

    code = ErrorCode.INVALID_ARCHIVE

    def __init__(self, reason: str) -> None:
        super().__init__(field="file", error=reason)


class FileTooLarge(AgentexError):
    """An upload over the limit in the details (bytes)."""

    code = ErrorCode.FILE_TOO_LARGE


class QuotaExceeded(AgentexError):
    """An upload that its owner's quota has no room for; the details tell them used and limit (bytes)."""

    code = ErrorCode.QUOTA_EXCEEDED


class RequestTooLarge(AgentexError):
    """A request body over the limit in the details (bytes)."""

    code = ErrorCode.REQUEST_TOO_LARGE


class UrlNotAllowed(AgentexError):
    """A URL that is not called: malformed, or where it leads is not public.

    Args:
        reason: which rule it breaks, in English; never what was found at the address.
    """

    code = ErrorCode.URL_NOT_ALLOWED

    def __init__(self, reason: str) -> None:
        super().__init__(field="url", error=reason)


class InterruptAnswerInvalid(AgentexError):
    """The details say what does not fit; nothing was done."""

    code = ErrorCode.INTERRUPT_ANSWER_INVALID


class TooManyRequests(AgentexError):
    """The caller or their address has used up its requests.

    Args:
        retry_after: whole seconds until one more is let through.
    """

    code = ErrorCode.TOO_MANY_REQUESTS

    def __init__(self, retry_after: int) -> None:
        super().__init__(retry_after=retry_after)


class TooManyLogins(TooManyRequests):
    """So many wrong passwords came from one address."""

    code = ErrorCode.TOO_MANY_LOGINS


class UnreadableSkill(AgentexError):
    """A content that no skill can be read from; the details hold its diagnostics."""

    code = ErrorCode.UNREADABLE_SKILL


class SkillFilesRefused(AgentexError):
    """Files of a skill that are not taken in; the details hold every problem."""

    code = ErrorCode.SKILL_FILES_REFUSED


class SkillNotEditable(AgentexError):
    """A part of a skill that no file can say so that it is read back as it is; nothing was changed.

    The details name the part (``field``) and say why (``error``, ``error_zh``).
    """

    code = ErrorCode.SKILL_NOT_EDITABLE
