"""The dialect-independent request for a run."""

from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from agents.client_time import ClientTime
from core.json_access import parse
from core.settings.tool_policies import ToolPolicy

MOST_SKILLS = 5
"""Skills that a person may choose for a run."""
MOST_ATTACHMENTS = 3
"""Pictures and files of one message."""


@dataclass(frozen=True, slots=True)
class ImageRef:
    """An attached image: ``Attachment.id`` and media type."""

    id: str
    mime_type: str


@dataclass(frozen=True, slots=True)
class DocumentRef:
    """An attached document: ``Attachment.id``, media type and file name."""

    id: str
    mime_type: str
    name: str


@dataclass(frozen=True, slots=True)
class MediaPart:
    """A picture or file of a message as the client sends it.

    Attributes:
        field: Its place in the request, for errors.
        data: Base64; empty for a part with a ``url``.
        mime_type: As the client says; the bytes decide.
        attachment_id: Of a document that was attached to an earlier question; then there is no data.
    """

    field: str
    kind: Literal["image", "document"]
    data: str = ""
    url: str = ""
    mime_type: str = ""
    filename: str = ""
    attachment_id: str | None = None

    @property
    def label(self) -> str:
        """What the part is called in a message without text."""
        return self.filename or self.mime_type or self.kind


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A user message; ``text`` joins its text parts.

    ``media`` becomes attachments before the run is written, so a stored request has none.
    """

    id: str
    text: str
    images: tuple[ImageRef, ...] = ()
    documents: tuple[DocumentRef, ...] = ()
    media: tuple[MediaPart, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The result of a frontend's tool call, or a person's answer to a question."""

    call_id: str
    text: str
    error: str = ""

    @property
    def value(self) -> JsonValue:
        """The text parsed as JSON if possible."""
        try:
            return parse(self.text)
        except ValueError:
            return self.text


@dataclass(frozen=True, slots=True)
class InterruptAnswer:
    """The answer to an interrupt (AG-UI 1.0 ``resume``)."""

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: JsonValue = None


@dataclass(frozen=True, slots=True)
class ClientTool:
    """A tool that runs in the caller's frontend; ``parameters`` is its JSON Schema."""

    name: str
    description: str
    parameters: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class ContextItem:
    """A described piece of context from the caller: data, never instructions."""

    description: str
    value: str


@dataclass(frozen=True, slots=True)
class SkillChoice:
    """A skill that a person chose; without a ``version``, the one served to them."""

    id: str
    version: int | None = None


@dataclass(frozen=True, slots=True)
class PinnedSkill:
    """A chosen skill, pinned for the run; ``sha`` is the SHA-256 of its content."""

    id: str
    slug: str
    owner: str
    version: int
    sha: str


@dataclass(frozen=True, slots=True)
class RunBudget:
    """A tighter budget than the server's for one run; None leaves the server's."""

    max_turns: int | None = None
    max_tokens: int | None = None
    timeout_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Settings of ``forwarded_props`` (docs/reference/agentex-api.md, section 12.2); None if absent.

    ``skill_inputs`` are values for declared inputs, by input name or by skill slug and input name. ``budget`` is given
    by rules only.
    """

    agent_type: str | None = None
    model_id: str | None = None
    knowledge_base_ids: tuple[str, ...] | None = None
    mcp_connection_ids: tuple[str, ...] | None = None
    skill_ids: tuple[SkillChoice, ...] | None = None
    client_time: ClientTime | None = None
    skill_inputs: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    budget: RunBudget | None = None


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A request for a run.

    Attributes:
        messages: User messages, oldest first; the last one is the question. The caller's
            assistant, tool and system messages are not trusted and not here. The run engine
            skips messages that are stored already.
        trailing: How many of ``messages``, at their end, follow everything that others said.
        tool_messages: Accepted only for calls that wait.
        spelling: How the caller writes keys, and so the mirror of the events it gets.
        declared_version: The caller's AG-UI version, None for a 0.x peer.
        profile_timezone: The account's setting at the start; this and all below are filled in by the run engine.
        tool_policies: Those in force at the start.
        follow_ups: The messages of a run of answers that its thread lacks; they are answered after
            what was waited for.
        lacking: Permissions that the starting credential lacked; the run never gets them, whatever
            the account may do later.
        document_ids: Attached documents that the run reads: the newest of the conversation, oldest first.
    """

    thread_id: str
    run_id: str
    messages: tuple[UserMessage, ...]
    options: RunOptions = field(default_factory=RunOptions)
    state: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    tools: tuple[ClientTool, ...] = ()
    context: tuple[ContextItem, ...] = ()
    parent_run_id: str | None = None
    declared_version: str | None = None
    answers: tuple[InterruptAnswer, ...] = ()
    tool_messages: tuple[ToolMessage, ...] = ()
    trailing: int = 0
    profile_timezone: str | None = None
    tool_policies: dict[str, ToolPolicy] = field(default_factory=dict[str, ToolPolicy])
    lacking: tuple[str, ...] = ()
    skills: tuple[PinnedSkill, ...] = ()
    document_ids: tuple[str, ...] = ()
    spelling: Literal["camel", "snake"] = "camel"
    follow_ups: tuple[UserMessage, ...] = ()

    @property
    def question(self) -> str:
        """The question; empty if the request only answers interrupts."""
        return self.messages[-1].text if self.messages else ""


NO_CHOICES = "must be a list of ids or of {id, version}", "必须是 ID 列表，或由 {id, version} 组成的列表"
"""What is wrong with a value that ``read_skill_choices`` can't read, in English and Chinese."""


def read_skill_choices(value: JsonValue) -> tuple[SkillChoice, ...] | None:
    """Parse skills of requests and sessions: ids, or ``{id, version}`` with a version from 1.

    Duplicates are dropped; None if the value is malformed.
    """
    if not isinstance(value, list):
        return None
    choices: dict[SkillChoice, None] = {}
    for item in value:
        about = {"id": item} if isinstance(item, str) else item
        if not isinstance(about, dict) or not about.keys() <= {"id", "version"}:
            return None
        skill_id, version = about.get("id"), about.get("version")
        is_number = isinstance(version, int) and not isinstance(version, bool) and version > 0
        if not isinstance(skill_id, str) or not skill_id or not (version is None or is_number):
            return None
        choices[SkillChoice(skill_id, version if isinstance(version, int) else None)] = None
    return tuple(choices)
