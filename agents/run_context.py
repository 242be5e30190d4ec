"""The context of one run, for its strategy and its tools."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from agents.calendar.run_calendar import RunCalendar
from agents.client_time import UserClock
from agents.evidence import DocumentReader, Passage, Retriever
from agents.journal import Journal
from agents.llm.base import ChatModel, ModelImage, ModelMessage
from agents.mcp.agent_texts import RemoteTexts
from agents.mcp.agent_tools import RemoteTool
from agents.memory_port import LongTermMemory
from agents.run_request import ClientTool, ContextItem, RunBudget
from agents.skills.run_skills import RunSkills
from core.settings.tool_policies import ServerPolicies, ToolPolicy

_IMAGES_TITLE = "Images attached to the question"
_UNSEEN = (
    "{unseen} of {total} can't be seen by you: say so where the answer depends on them, and do "
    "not guess what they show."
)
_BLIND = (
    "The attached pictures were not looked at: what answers here can't see pictures.",
    "附带的图片没有被查看：这里作答的模型不能看图片。",
)
_UNREADABLE = (
    "{unseen} of {total} attached pictures could not be read and were not looked at.",
    "附带的 {total} 张图片中有 {unseen} 张无法读取，没有被查看。",
)
_CUT = (
    "Only the beginning was read of: {names}. To ask about all of it, upload it to a knowledge base.",
    "以下文件只读取了开头部分：{names}。如需就全文提问，请上传到知识库。",
)
_GONE = (
    "{count} attached files could not be read any more.",
    "有 {count} 个附带的文件已无法读取。",
)
# The rest is reserved for the answer, so that long runs still give one.
_ACTING_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Bounds of one run.

    Attributes:
        acting_seconds: Time for thinking and calls; afterwards the run only answers.
        max_turns: Model turns with tools.
        max_tokens: Input and output tokens, after which the run only answers.
        max_searches: Rounds of retrieval, including the first.
        max_attempts: Attempts at an answer, including the first.
        evidence_characters: Longest text of passages in one prompt.
        policies: The server's limits for the tool policies of users.
    """

    timeout_seconds: float = 300
    acting_seconds: float = 240
    max_turns: int = 24
    max_tokens: int = 400_000
    max_searches: int = 3
    max_plan_steps: int = 8
    max_replans: int = 2
    max_attempts: int = 3
    top_k: int = 8
    history_messages: int = 20
    evidence_characters: int = 40_000
    policies: ServerPolicies = field(default_factory=ServerPolicies)


def narrow_limits(limits: RunLimits, budget: RunBudget | None) -> RunLimits:
    """The limits of a run with a budget of its own, which widens none of them."""
    if budget is None:
        return limits
    timeout = limits.timeout_seconds if budget.timeout_seconds is None else budget.timeout_seconds
    share = min(1.0, timeout / limits.timeout_seconds)
    return replace(
        limits,
        timeout_seconds=share * limits.timeout_seconds,
        acting_seconds=share * limits.acting_seconds,
        max_turns=min(limits.max_turns, budget.max_turns or limits.max_turns),
        max_tokens=min(limits.max_tokens, budget.max_tokens or limits.max_tokens),
    )


def limits_for_timeout(timeout_seconds: float, *, max_turns: int = 24, max_tokens: int = 400_000) -> RunLimits:
    """Limits of a run that must end within some seconds."""
    return RunLimits(
        timeout_seconds, acting_seconds=_ACTING_SHARE * timeout_seconds, max_turns=max_turns, max_tokens=max_tokens
    )


@dataclass(frozen=True, slots=True)
class ToolRules:
    """Which tools a run may call.

    Attributes:
        policies: By tool name, as of the run's start, so that a replay goes the same way; other
            tools keep their default.
        forbidden: Tools that may no longer be called, though still offered to a run that began with them.
    """

    policies: Mapping[str, ToolPolicy] = field(default_factory=dict[str, ToolPolicy])
    forbidden: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class VisionInput:
    """The images of a question that the model sees; ``is_blind`` if it can't see images."""

    attached: int = 0
    images: tuple[ModelImage, ...] = ()
    is_blind: bool = False

    @property
    def unseen(self) -> int:
        return self.attached - len(self.images)

    @property
    def unseen_notice(self) -> tuple[ContextItem, ...]:
        """A note to the model about images that it does not get."""
        if not self.unseen:
            return ()
        text = _UNSEEN.format(unseen=self.unseen, total=self.attached)
        return (ContextItem(_IMAGES_TITLE, text),)

    def note(self, *, is_chinese: bool) -> str:
        """A note to the reader about them; empty if the model got all."""
        if not self.unseen:
            return ""
        wording = _BLIND if self.is_blind else _UNREADABLE
        return wording[is_chinese].format(unseen=self.unseen, total=self.attached)


@dataclass(frozen=True, slots=True)
class AttachedPassages:
    """The documents that the conversation brought along, in passages.

    ``cut`` are the names of those of which only the beginning is here; ``unread`` counts those that are gone.
    """

    passages: tuple[Passage, ...] = ()
    cut: tuple[str, ...] = ()
    unread: int = 0

    def note(self, *, is_chinese: bool) -> str:
        """A note to the reader about what was not read; empty if all was."""
        notes = [_CUT[is_chinese].format(names=("、" if is_chinese else ", ").join(self.cut))] if self.cut else []
        notes += [_GONE[is_chinese].format(count=self.unread)] if self.unread else []
        return "\n\n".join(notes)


@dataclass(frozen=True, slots=True)
class RunContext:
    """A question with everything that may be used to answer it.

    Attributes:
        retriever: None if no knowledge base is selected; likewise ``documents``.
        memory: None if the owner does not allow it.
        caller_context: Context of the caller's page, and the owner's memories.
        reopens: Whether the run continues a task in a log of its own.
        reflections: From earlier runs of the thread, oldest first.
    """

    question: str
    model: ChatModel
    retriever: Retriever | None = None
    documents: DocumentReader | None = None
    memory: LongTermMemory | None = None
    history: tuple[ModelMessage, ...] = ()
    state: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    caller_context: tuple[ContextItem, ...] = ()
    tools: tuple[ClientTool, ...] = ()
    limits: RunLimits = field(default_factory=RunLimits)
    journal: Journal = field(default_factory=Journal)
    reopens: bool = False
    time: UserClock = field(default_factory=UserClock)
    calendar: RunCalendar | None = None
    reflections: tuple[str, ...] = ()
    vision: VisionInput = field(default_factory=VisionInput)
    attached: AttachedPassages = field(default_factory=AttachedPassages)
    rules: ToolRules = field(default_factory=ToolRules)
    remote_tools: tuple[RemoteTool, ...] = ()
    remote_texts: RemoteTexts | None = None
    skills: RunSkills | None = None
