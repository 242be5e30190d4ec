"""Registry of model providers: a new provider needs one entry here, nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agents.llm.config import Traits

WireProtocol = Literal["openai", "anthropic", "gemini"]


# Local servers: no key, any model.
_LOCAL = Traits(begins_in_thought=None, context_window=32_768)
CUSTOM_NAME = "openai-compatible"


@dataclass(frozen=True, slots=True)
class ModelProvider:
    """Overridable defaults of a provider; ``key_variable`` is None if it needs no key."""

    base_url: str
    key_variable: str | None = None
    traits: Traits = field(default_factory=Traits)
    protocol: WireProtocol = "openai"


# Vision is preset if all current models of a provider support it.
PROVIDERS: Mapping[str, ModelProvider] = {
    "openai": ModelProvider(
        "https://api.openai.com/v1", "OPENAI_API_KEY", Traits(max_tokens_field="max_completion_tokens", vision=True)
    ),
    "deepseek": ModelProvider("https://api.deepseek.com", "DEEPSEEK_API_KEY", Traits(echo_reasoning=True)),
    "qwen": ModelProvider(
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        # Off unless asked for.
        Traits(parallel_tools=True, context_window=131_072),
    ),
    "moonshot": ModelProvider("https://api.moonshot.cn/v1", "MOONSHOT_API_KEY"),
    "zhipu": ModelProvider("https://open.bigmodel.cn/api/paas/v4", "ZHIPUAI_API_KEY"),
    "openrouter": ModelProvider(
        "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", Traits(reasoning_field="reasoning")
    ),
    "anthropic": ModelProvider(
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
        Traits(context_window=200_000, vision=True),
        protocol="anthropic",
    ),
    "gemini": ModelProvider(
        "https://generativelanguage.googleapis.com/v1beta",
        "GEMINI_API_KEY",
        Traits(context_window=1_000_000, vision=True),
        protocol="gemini",
    ),
    "vllm": ModelProvider("http://127.0.0.1:8000/v1", traits=_LOCAL),
    "ollama": ModelProvider("http://127.0.0.1:11434/v1", traits=_LOCAL),
    "lmstudio": ModelProvider("http://127.0.0.1:1234/v1", traits=_LOCAL),
}

CUSTOM = ModelProvider("")
"""Any other OpenAI-compatible endpoint, named by its address alone."""
