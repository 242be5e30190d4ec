"""Language model port: messages, tools, stream events and the ``ChatModel`` protocol."""

from base64 import b64encode
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from pydantic import JsonValue

from core.errors.server import ModelFailed

FinishReason = Literal["stop", "tool_calls", "length", "content_filter"]


class ToolsRefused(ModelFailed):
    """The endpoint can't do tool calling for this model."""


class ToolSchemaRefused(ModelFailed):
    """The endpoint refuses how a tool is described, which says nothing about its tool calling."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A complete call; ``arguments`` is the raw JSON text of the model, not yet validated.

    ``signature`` came from the provider and must be sent back with the call (Gemini).
    """

    id: str
    name: str
    arguments: str
    signature: str = ""


@dataclass(frozen=True, slots=True)
class ModelImage:
    """An image for a model; ``mime_type`` is PNG, JPEG or WebP's."""

    mime_type: str
    content: bytes = field(repr=False)

    @property
    def base64(self) -> str:
        return b64encode(self.content).decode("ascii")


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """One message as the model sees it; reasoning is sent back only to models that require it.

    ``reasoning_blocks`` is the provider's signed form (Anthropic, OpenRouter).
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    reasoning: str = ""
    reasoning_blocks: tuple[dict[str, JsonValue], ...] = ()
    images: tuple[ModelImage, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as offered to the model; ``parameters`` is a JSON Schema object.

    ``own_name`` is what its owner calls it, where that is no name for an endpoint; ``is_foreign`` tools are described by a
    frontend or an MCP server, not by us.
    """

    name: str
    description: str
    parameters: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    own_name: str = ""
    is_foreign: bool = False


@dataclass(frozen=True, slots=True)
class ModelText:
    """More answer text."""

    delta: str


@dataclass(frozen=True, slots=True)
class ModelThought:
    """More reasoning text."""

    delta: str


@dataclass(frozen=True, slots=True)
class ModelToolCall:
    """Start of a call (``opens``) or more of its arguments; all deltas of a call share its id."""

    call_id: str
    name: str
    arguments_delta: str
    opens: bool
    signature: str = ""


@dataclass(frozen=True, slots=True)
class ModelReasoningBlock:
    """Reasoning in the form that its provider requires back with the calls of the turn."""

    block: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one model call; ``is_estimated`` if the provider reported none."""

    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int = 0
    cached_prompt_tokens: int = 0
    is_estimated: bool = False


@dataclass(frozen=True, slots=True)
class ModelEnd:
    """End of a turn; after ``length`` it was cut, and its calls must not run."""

    finish_reason: FinishReason


ModelEvent = ModelText | ModelThought | ModelReasoningBlock | ModelToolCall | TokenUsage | ModelEnd


class ChatModel(Protocol):
    """A language model; ``is_extractive`` ones only retrieve and quote."""

    name: str
    provider: str
    is_extractive: bool
    sees_images: bool
    context_window: int

    def events(
        self, messages: Sequence[ModelMessage], tools: Sequence[ToolSpec] = ()
    ) -> AsyncGenerator[ModelEvent, None]:
        """Stream one turn; ``ModelEnd`` comes last.

        After ``ToolsRefused`` the same messages may be sent without tools. ``ModelFailed`` has a ``reason`` that is
        safe to show.
        """
        ...
