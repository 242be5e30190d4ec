"""Open interrupts of a thread, and the run that answers them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from pydantic import JsonValue, TypeAdapter
from sqlalchemy import update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.events import Interrupt
from agents.journal import Effect, Journal
from agents.llm_registry.selection import ModelRef
from agents.models import AgentRun, ChatSession, RunInterrupt
from agents.run_request import InterruptAnswer, RunRequest, ToolMessage, UserMessage
from agents.runs import journal_store
from agents.runs.resent_messages import find_new
from agents.tools.approval import DECLINED, ApprovalResult, InvalidAnswer, cancelled_answer, read_answer
from agents.tools.base import truncate_output
from core.db.now import database_now
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.base import AgentexError
from core.errors.conflicts import InterruptAnswered, InterruptNotOpen, InterruptsOpen
from core.errors.requests import InterruptAnswerInvalid
from core.json_access import as_text

NO_RESULT = "No result was given: the user went on without it."
_INTERRUPTS = TypeAdapter(Interrupt)
_CALL = "call:"


@dataclass(frozen=True)
class OpenInterrupts:
    """A task that waits on a thread: for people (``interrupts`` by id) or for its frontend."""

    run: AgentRun
    past: tuple[Effect, ...]
    interrupts: dict[str, RunInterrupt]
    client_calls: tuple[str, ...]

    @property
    def model(self) -> ModelRef:
        return ModelRef(self.run.model_id, self.run.model)


@dataclass(frozen=True)
class Resume:
    """A task with answers to everything that it waited for.

    ``changes`` are the answers as journal effects; ``own_events`` counts the strategy's repeated events;
    ``messages`` came beside the answers and are answered after what was waited for.
    """

    waiting: OpenInterrupts
    changes: tuple[Effect, ...]
    own_events: int
    answered: dict[str, tuple[str, dict[str, JsonValue]]]
    messages: tuple[UserMessage, ...] = ()


@dataclass(frozen=True)
class NoOp:
    """A run with nothing to do; ``refused`` makes it an error, in the language of ``question``."""

    refused: AgentexError | None = None
    question: str = ""


class RejectPolicy(Enum):
    """How a request that does not fit its thread's interrupts is rejected.

    Either by raising an error, or by a run that ends in the error and changes nothing else.
    """

    ERROR = "an error"
    RUN_OF_ANSWERS = "answers that can't be used are a run, a question is an error"
    RUN = "a run"

    def of_answers(self, refused: AgentexError) -> NoOp:
        if self is RejectPolicy.ERROR:
            raise refused
        return NoOp(refused)

    def of_question(self, refused: AgentexError) -> NoOp:
        if self is not RejectPolicy.RUN:
            raise refused
        return NoOp(refused)


async def find_open_interrupts(session: AsyncSession, thread: ChatSession | None) -> OpenInterrupts | None:
    """The open interrupts of a thread, if it waits."""
    if thread is None or thread.waiting_run_id is None:
        return None
    run = await session.get(AgentRun, thread.waiting_run_id)
    if run is None:
        return None
    past = tuple(await journal_store.read(session, run.task_id))
    open_rows = select(RunInterrupt).where(RunInterrupt.run_id == run.id, RunInterrupt.status == "open")
    interrupts = {row.id: row for row in (await session.exec(open_rows)).all()}
    asked_calls = {row.call_id for row in interrupts.values()}
    waiting_calls = [e.key.removeprefix(_CALL) for e in past if e.status == "waiting"]
    return OpenInterrupts(run, past, interrupts, tuple(c for c in waiting_calls if c not in asked_calls))


async def decide(
    session: AsyncSession, thread: ChatSession | None, request: RunRequest, refusal: RejectPolicy
) -> Resume | NoOp | None:
    """Decide how a request relates to its thread's open interrupts.

    Returns:
        None for a new question, also beside answers that were given before; calls that waited for a
        frontend are then given up.

    Raises:
        InterruptsOpen: It neither answers nor cancels the open questions. This and the errors
            below are raised only if ``refusal`` says so.
        InterruptNotOpen: It answers an interrupt that is not open.
        InterruptAnswered: It gives a different answer to an answered interrupt.
        InterruptAnswerInvalid: An answer does not fit its question.
        InvalidRunInput: A message beside the answers has the id of another one; always raised.
    """
    waiting = await find_open_interrupts(session, thread)
    if waiting is None:
        if not request.answers:
            return None
        late = await _late(session, thread, request.answers)
        if late is not None:
            return refusal.of_answers(late)
        return None if await find_new(session, thread, request) else NoOp()
    results = {message.call_id: message for message in request.tool_messages}
    answers = [*request.answers, *_said_by_message(waiting, results, request.answers)]
    if not answers and not any(call_id in results for call_id in waiting.client_calls):
        if waiting.interrupts:
            return refusal.of_question(InterruptsOpen(interrupts=sorted(waiting.interrupts)))
        return None
    messages = await find_new(session, thread, request)
    try:
        continuation = await _continue(session, waiting, answers, results)
        return replace(continuation, messages=messages)
    except AgentexError as refused:
        return refusal.of_answers(refused)


async def _late(
    session: AsyncSession, thread: ChatSession | None, answers: Sequence[InterruptAnswer]
) -> AgentexError | None:
    """The fault of answers to closed interrupts; repeating the same answer is no fault."""
    rows = await _interrupts_of(session, thread, [answer.interrupt_id for answer in answers])
    for answer in answers:
        row = rows.get(answer.interrupt_id)
        if answer.status == "cancelled":
            continue
        if row is None or row.status == "open":
            return InterruptNotOpen(interrupt_id=answer.interrupt_id)
        if (row.status, row.answer) != (answer.status, {"payload": answer.payload}):
            return InterruptAnswered(interrupt_id=answer.interrupt_id)
    return None


async def _interrupts_of(
    session: AsyncSession, thread: ChatSession | None, interrupt_ids: Sequence[str]
) -> dict[str, RunInterrupt]:
    if thread is None:
        return {}
    query = (
        select(RunInterrupt)
        .join(AgentRun, col(AgentRun.id) == col(RunInterrupt.run_id))
        .where(col(RunInterrupt.id).in_(interrupt_ids), AgentRun.session_id == thread.id)
    )
    return {row.id: row for row in (await session.exec(query)).all()}


def _said_by_message(
    waiting: OpenInterrupts, results: dict[str, ToolMessage], answers: Sequence[InterruptAnswer]
) -> list[InterruptAnswer]:
    """Tool messages that answer a question (docs/reference/ag-ui-endpoint.md, section "Human in the loop")."""
    answered = {answer.interrupt_id for answer in answers}
    found_answers: list[InterruptAnswer] = []
    for row in waiting.interrupts.values():
        message = results.get(row.call_id)
        if message is not None and row.id not in answered:
            found_answers.append(InterruptAnswer(row.id, "resolved", message.value))
    return found_answers


async def _continue(
    session: AsyncSession, waiting: OpenInterrupts, answers: Sequence[InterruptAnswer], results: dict[str, ToolMessage]
) -> Resume:
    now = await database_now(session)
    made: dict[str, ApprovalResult] = {}
    new_answers: dict[str, tuple[str, dict[str, JsonValue]]] = {}
    for answer in answers:
        row = waiting.interrupts.get(answer.interrupt_id)
        if row is None:
            if answer.status == "cancelled":
                continue
            raise InterruptNotOpen(interrupt_id=answer.interrupt_id)
        if answer.status == "resolved" and row.expires_at < now:
            raise InterruptNotOpen(interrupt_id=answer.interrupt_id, error="expired: cancel it")
        made[row.call_id] = _answered(row, answer)
        new_answers[row.id] = (answer.status, {"payload": answer.payload})
    missing = sorted(waiting.interrupts.keys() - new_answers.keys())
    if missing:
        raise InterruptsOpen(interrupts=missing)
    for call_id in waiting.client_calls:
        made[call_id] = ApprovalResult("done", content=_result_of(call_id, waiting, results))
    journal = _answered_journal(waiting, made)
    return Resume(waiting, tuple(journal.drain_changes()), journal.own_events_left, new_answers)


def _result_of(call_id: str, waiting: OpenInterrupts, results: dict[str, ToolMessage]) -> str:
    """The frontend's result of a call; never empty, which would mean no result."""
    message = results.get(call_id)
    if message is None:
        return NO_RESULT
    if not message.error:
        return truncate_output(message.text)
    waiting_effect = next(effect for effect in waiting.past if effect.key == _CALL + call_id)
    failed = f"The tool {as_text(waiting_effect.outcome.get('name'))} failed: {message.error}"
    return truncate_output(f"{failed}\n{message.text}".rstrip())


def _answered(row: RunInterrupt, answer: InterruptAnswer) -> ApprovalResult:
    if answer.status == "cancelled":
        return cancelled_answer(_INTERRUPTS.validate_python(row.interrupt))
    try:
        return read_answer(_INTERRUPTS.validate_python(row.interrupt), answer.payload)
    except InvalidAnswer as fault:
        raise InterruptAnswerInvalid(interrupt_id=row.id, error=str(fault)) from fault


def _answered_journal(waiting: OpenInterrupts, answers: dict[str, ApprovalResult]) -> Journal:
    journal = Journal(waiting.run.task_id, waiting.past, own_events=waiting.run.own_events)
    for call_id, answered in answers.items():
        outcome: dict[str, JsonValue] = {"content": answered.content, "ran": True}
        if answered.status == "approved":
            effect = journal.find(_CALL + call_id)
            skill_state = {"skill": effect.outcome["skill"]} if effect and "skill" in effect.outcome else {}
            outcome = {"arguments": answered.arguments, **skill_state}
            if answered.reply is not None:
                state = None if effect is None else effect.outcome.get("state")
                outcome["reply"] = {"answer": answered.reply, "state": state}
        elif answered.content == DECLINED:
            outcome["ran"] = False
        journal.answer(_CALL + call_id, outcome, answered.status)
    return journal


async def apply(work: UnitOfWork, continuation: Resume) -> None:
    """Store the answers, in the transaction that takes the thread for the new run."""
    waiting = continuation.waiting
    stored = len(waiting.past)
    await journal_store.write(work.session, waiting.run.task_id, continuation.changes, stored=stored)
    for interrupt_id, (status, answer_json) in continuation.answered.items():
        answer = (
            update(RunInterrupt)
            .where(col(RunInterrupt.id) == interrupt_id, col(RunInterrupt.status) == "open")
            .values(status=status, answer=answer_json, answered_at=utc_now())
        )
        await work.session.exec(answer)
