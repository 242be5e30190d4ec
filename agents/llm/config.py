"""Model endpoint configuration: address, traits and timeouts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue, SecretStr

ToolMode = Literal["auto", "native", "text", "none"]


@dataclass(frozen=True, slots=True)
class Traits:
    """Capabilities of an endpoint and its dialect of the protocol.

    Attributes:
        tools: ``native`` offers tools in the request; ``text`` describes them in the prompt; ``auto`` is native until
            the endpoint refuses, then text; ``none`` offers none.
        parallel_tools: Sent as ``parallel_tool_calls``; None leaves it to the endpoint.
        stream_usage: Ask for token counts with ``stream_options``, until the endpoint refuses.
        reasoning_field: Where reasoning is in a delta; the other common name is read too.
        echo_reasoning: Send reasoning back with assistant turns that called tools (DeepSeek).
        think_tags: An answer may begin with ``<think>...</think>``, which is reasoning.
        begins_in_thought: The template writes the opening tag, so that an answer has the closing one alone; None: the
            first turn shows it, whose text is passed on at its end only.
        max_tokens: None sends no limit.
        temperature: None leaves it to the endpoint.
        system_role: ``user`` puts the system message in front of the first question.
        extra_body: More fields of each request, such as ``reasoning_effort``.
    """

    tools: ToolMode = "auto"
    parallel_tools: bool | None = None
    stream_usage: bool = True
    reasoning_field: str = "reasoning_content"
    echo_reasoning: bool = False
    vision: bool = False
    think_tags: bool = True
    begins_in_thought: bool | None = False
    max_tokens: int | None = None
    max_tokens_field: str = "max_tokens"
    temperature: float | None = None
    system_role: Literal["system", "developer", "user"] = "system"
    context_window: int = 128_000
    extra_body: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """Address, credentials and timeouts of a model.

    Attributes:
        base_url: Up to and without ``/chat/completions``, e.g. ``https://api.openai.com/v1``.
        call_seconds: Bound of a whole call, retries and pauses included.
        attempts: Requests in all, before the first byte.
        backoff_seconds: First pause, doubled each time, unless the answer says ``Retry-After``.
        longest_wait_seconds: A longer ``Retry-After`` ends the retries.
        is_registered: Faults name the fields of the registry, not the settings.
    """

    base_url: str
    model: str
    api_key: SecretStr | None = None
    provider: str = "openai-compatible"
    traits: Traits = field(default_factory=lambda: Traits(tools="native"))
    connect_timeout_seconds: float = 10
    read_timeout_seconds: float = 120
    call_seconds: float = 240
    attempts: int = 3
    backoff_seconds: float = 0.5
    longest_wait_seconds: float = 20
    is_registered: bool = False

    @property
    def key(self) -> str:
        return self.api_key.get_secret_value().strip() if self.api_key is not None else ""
