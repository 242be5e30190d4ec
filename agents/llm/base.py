"""The model port: what a strategy says to a language model and what streams back."""

from base64 import b64encode
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from pydantic import JsonValue

from core.errors.server import ModelFailed


class ToolsRefused(ModelFailed):
    """The endpoint can't do tool calling for this model."""


FinishReason = Literal["stop", "tool_calls", "length", "content_filter"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A complete call; ``arguments`` is the raw JSON text of the model, not yet validated.

    ``signature`` is what its provider gave with it and wants back with it (Gemini).
    """

    id: str
    name: str
    arguments: str
    signature: str = ""


@dataclass(frozen=True, slots=True)
class ModelImage:
    """A picture that a model is shown; ``mime_type`` is PNG, JPEG or WebP's."""

    mime_type: str
    content: bytes = field(repr=False)

    @property
    def base64(self) -> str:
        """The bytes as protocols want them inside JSON."""
        return b64encode(self.content).decode("ascii")


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """One message of the conversation as the model sees it.

    Attributes:
        tool_calls: Calls of an assistant message.
        tool_call_id: The call that a tool message answers.
        reasoning: Reasoning of an assistant message, sent back only to models that want it.
        reasoning_blocks: The same as its provider wants it back, signed (Anthropic, OpenRouter).
        images: Pictures of a user message, only for models that see.
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
    """A tool as offered to the model; ``parameters`` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])


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
    """A call opens (``opens``) or its arguments go on; the id is the same from first to last."""

    call_id: str
    name: str
    arguments_delta: str
    opens: bool
    signature: str = ""


@dataclass(frozen=True, slots=True)
class ModelReasoningBlock:
    """A piece of reasoning as its provider wants it back with the calls of the turn."""

    block: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of this model call; ``is_estimated`` where the provider did not count them."""

    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int = 0
    cached_prompt_tokens: int = 0
    is_estimated: bool = False


@dataclass(frozen=True, slots=True)
class ModelEnd:
    """The turn is complete; ``length`` means that it was cut and its calls may not run."""

    finish_reason: FinishReason


ModelEvent = ModelText | ModelThought | ModelReasoningBlock | ModelToolCall | TokenUsage | ModelEnd


class ChatModel(Protocol):
    """A language model, or the offline one that only quotes.

    Attributes:
        name: Model name for usage records.
        provider: Provider name for usage records.
        is_extractive: Only retrieves and quotes: prompts that ask it to judge or to rewrite
            make no sense.
        context_window: Tokens that it reads at once.
    """

    name: str
    provider: str
    is_extractive: bool
    sees_images: bool
    context_window: int

    def events(
        self, messages: Sequence[ModelMessage], tools: Sequence[ToolSpec] = ()
    ) -> AsyncGenerator[ModelEvent, None]:
        """Stream one turn; ``ModelEnd`` comes last.

        Raises:
            ToolsRefused: Nothing streamed yet; the same messages may be sent without tools.
            core.errors.ModelFailed: The endpoint refused, timed out or broke off. Details hold a
                ``reason`` that is safe to show.
        """
        ...
