"""What a caller asks an agent to do: one shape for every dialect."""

from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from agents.client_time import ClientTime
from core.json_access import parse
from core.settings.tool_policies import ToolPolicy

MOST_SKILLS = 5
"""Skills that a person may choose for a run."""


@dataclass(frozen=True, slots=True)
class ImageRef:
    """An attached image of the user's: ``Attachment.id`` and its media type."""

    id: str
    mime_type: str


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message of the user; ``text`` joins its text parts."""

    id: str
    text: str
    images: tuple[ImageRef, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The result of a call that the caller's frontend made, or a person's answer to one."""

    call_id: str
    text: str
    error: str = ""

    @property
    def value(self) -> JsonValue:
        """The text as JSON, if it is some."""
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
    """A skill that a person chose; ``version`` is None for the one that they are served."""

    id: str
    version: int | None = None


@dataclass(frozen=True, slots=True)
class PinnedSkill:
    """A chosen skill as it was found when the run began, which it keeps to.

    Attributes:
        sha: SHA-256 of the version's content.
    """

    id: str
    slug: str
    owner: str
    version: int
    sha: str


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The agent settings of ``forwarded_props`` (seed 002 section 12.2); None = not said.

    ``client_time`` is seed 000's; ``skill_inputs`` are values for what skills declare, by name, or
    by a skill's slug and then by name.
    """

    agent_type: str | None = None
    model_id: str | None = None
    knowledge_base_ids: tuple[str, ...] | None = None
    mcp_connection_ids: tuple[str, ...] | None = None
    skill_ids: tuple[SkillChoice, ...] | None = None
    client_time: ClientTime | None = None
    skill_inputs: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run asked for.

    Attributes:
        messages: User messages of the input, oldest first; the last one is the question. The
            caller's assistant, tool and system messages are not here: they are not trusted.
            Messages already stored (same id) are for the run engine to skip.
        tool_messages: The caller's tool messages; only those for calls that wait are believed.
        spelling: How the caller writes keys, hence which mirror of the events it gets.
        declared_version: The caller's AG-UI version, None for a 0.x peer.
        profile_timezone: The account's setting when the run began, put in by the run engine.
        tool_policies: Those in force when the run began, put in by the run engine.
        lacking: Permissions that the credential it was begun with did not have, put in by the run
            engine; whatever its account may do later, the run may not.
        skills: Those that its caller chose, put in by the run engine.
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
    profile_timezone: str | None = None
    tool_policies: dict[str, ToolPolicy] = field(default_factory=dict[str, ToolPolicy])
    lacking: tuple[str, ...] = ()
    skills: tuple[PinnedSkill, ...] = ()
    spelling: Literal["camel", "snake"] = "camel"

    @property
    def question(self) -> str:
        """The text the run answers; empty where it only answers an interrupt."""
        return self.messages[-1].text if self.messages else ""


def read_skill_choices(value: JsonValue) -> tuple[SkillChoice, ...] | None:
    """Skills as requests and sessions name them: ids, or ``{id, version}`` with a version from 1.

    Returns:
        Each once, in their order; None where the value is no such list.
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
