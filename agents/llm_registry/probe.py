"""Connection test of a language model."""

from contextlib import aclosing
from dataclasses import dataclass
from time import perf_counter

from agents.llm.adapter import HttpChatModel
from agents.llm.base import ChatModel, ModelMessage
from core.errors.server import ModelFailed

_SECONDS = 30.0
_QUESTION = (ModelMessage("user", "Say hello."),)


@dataclass(frozen=True, slots=True)
class ModelProbe:
    """Result of a connection test: milliseconds until the first word or failure; an empty ``fault`` is a success."""

    milliseconds: int
    fault: str = ""
    reason: str = ""
    reason_zh: str = ""


async def probe_model(model: ChatModel) -> ModelProbe:
    """Ask a model for its first word, once, for at most half a minute."""
    bounded = model.with_deadline(_SECONDS) if isinstance(model, HttpChatModel) else model
    failure_fields: dict[str, str] = {}
    began = perf_counter()
    try:
        async with aclosing(bounded.events(_QUESTION)) as events:
            await anext(events)
    except ModelFailed as failure:
        failure_fields = {name: str(failure.details[name]) for name in ("fault", "reason", "reason_zh")}
    return ModelProbe(round((perf_counter() - began) * 1000), **failure_fields)
