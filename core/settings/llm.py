"""The setting ``AGENTEX_LLM_OPTIONS``: single values that replace those of the provider's preset."""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue


class LlmOptions(BaseModel):
    """What the operator knows better than the preset; what is left out stays the preset's.

    Args:
        tools: ``auto``, ``native``, ``text`` or ``none``: how tools are offered.
        parallel_tools: sent as ``parallel_tool_calls``.
        stream_usage: ask for token counts with ``stream_options``.
        reasoning_field: where a delta holds reasoning.
        echo_reasoning: send reasoning back with turns that called tools.
        vision: the model may be shown pictures.
        think_tags: an answer may begin with ``<think>...</think>``.
        begins_in_thought: an answer begins with a thought, of which only ``</think>`` is written.
        max_tokens: longest answer.
        max_tokens_field: name of that parameter.
        temperature: how freely tokens are drawn.
        system_role: role of the system message.
        context_window: tokens the model reads at once.
        extra_body: more fields of each request.
        timeout_seconds: longest silence of the endpoint.
        call_seconds: longest model call in all.
        attempts: requests in all before the first byte of an answer.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    tools: Literal["auto", "native", "text", "none"] | None = None
    parallel_tools: bool | None = None
    stream_usage: bool | None = None
    reasoning_field: str | None = Field(default=None, min_length=1)
    echo_reasoning: bool | None = None
    vision: bool | None = None
    think_tags: bool | None = None
    begins_in_thought: bool | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    max_tokens_field: str | None = Field(default=None, min_length=1)
    temperature: float | None = Field(default=None, ge=0, le=2)
    system_role: Literal["system", "developer", "user"] | None = None
    context_window: int | None = Field(default=None, ge=1024)
    extra_body: Mapping[str, JsonValue] | None = None
    timeout_seconds: float | None = Field(default=None, gt=0)
    call_seconds: float | None = Field(default=None, gt=0)
    attempts: int | None = Field(default=None, ge=1, le=10)

    def explicit_values(self) -> dict[str, JsonValue]:
        """The values that were set."""
        return self.model_dump(exclude_none=True)
