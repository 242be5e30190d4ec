"""What looking through a run costs, told where the run's own tokens are."""

from collections.abc import Sequence
from dataclasses import replace

from sqlmodel import col, select

from agents.events import Usage
from agents.llm.base import ModelUsage
from agents.llm_registry import usage
from agents.llm_registry.usage import Spent
from agents.models import AgentRun, ChatMessage
from core.db.unit_of_work import UnitOfWork
from core.json_access import as_object


async def count(work: UnitOfWork, run_key: str, spent: Sequence[ModelUsage]) -> None:
    """Add tokens to those that were spent on a run before, by attempts that failed too.

    They stand on the run's row, and in the metadata of its last message as ``memory_usage``.

    Args:
        work: the transaction.
        run_key: ``AgentRun.id``; a run that is gone costs nobody anything any more.
        spent: one for each call, on the run's model.
    """
    if not any(one.prompt_tokens or one.completion_tokens for one in spent):
        return
    query = select(AgentRun).where(AgentRun.id == run_key).with_for_update()
    run = (await work.session.exec(query)).first()
    if run is None:
        return
    prompt_tokens = sum(one.prompt_tokens for one in spent)
    completion_tokens = sum(one.completion_tokens for one in spent)
    run.memory_prompt_tokens += prompt_tokens
    run.memory_completion_tokens += completion_tokens
    work.session.add(run)
    await usage.count(work.session, run, Spent(prompt_tokens, completion_tokens))
    told = Usage(run.memory_prompt_tokens, run.memory_completion_tokens)
    estimated = any(one.is_estimated for one in spent)
    await _tell(work, run, replace(told, is_estimated=estimated))


async def _tell(work: UnitOfWork, run: AgentRun, spent: Usage) -> None:
    said = select(ChatMessage).where(
        ChatMessage.session_id == run.session_id,
        ChatMessage.run_id == run.run_id,
        ChatMessage.role == "assistant",
    )
    last = said.order_by(col(ChatMessage.position).desc()).limit(1)
    message = (await work.session.exec(last)).first()
    if message is not None:
        before = as_object(message.details.get("memory_usage"))
        spent = replace(spent, is_estimated=spent.is_estimated or "is_estimated" in before)
        told = {**spent.to_json(), "model_id": run.model_id, "model": run.model}
        message.details = {**message.details, "memory_usage": told}
        work.session.add(message)
