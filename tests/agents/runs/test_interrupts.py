"""Runs that wait for a person's answer, an approval, or a frontend tool."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from pydantic import BaseModel
from sqlmodel import select

from agents import tools as registry
from agents.agui.decoder import read_run_request
from agents.agui.verifier import verify
from agents.async_runs.history import read_day
from agents.async_runs.thread_stream import find_position, follow_thread
from agents.llm.extractive.model import ExtractiveModel
from agents.models import AgentRun, ChatMessage, ChatSession, RunInterrupt, RunStatus
from agents.runs import store
from agents.runs.resume import RejectPolicy
from agents.runs.service import RunService
from agents.sessions import service as sessions
from agents.tools.base import Tool, ToolScope, arguments_schema, with_validation
from core.auth.principal import Principal
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.conflicts import InterruptsOpen, ThreadBusy
from tests.agents.runs.helpers import InputRequestingModel, follow, make_request, plan_of, register, service_of, until
from tests.fixtures.database.databases import one_database, statements_of

pytestmark = pytest.mark.anyio

ASK_INPUT = '/tool request_input {"prompt": "Which address?"}'
ASK_CONFIRM = '/tool confirm_action {"message": "Delete all?"}'
SEND = '/tool send_mail {"to": "a@example.com"}'
WHERE = {"name": "where_am_i", "description": "The user's place.", "parameters": {"type": "object"}}


class Mail(BaseModel):
    to: str


class MailTool:
    """A tool with a side effect that nobody may have twice."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def tools(self, scope: ToolScope) -> list[Tool]:
        async def send(mail: Mail) -> str:
            self.sent.append(mail.to)
            return f"Sent to {mail.to}."

        schema = arguments_schema(Mail)
        return [Tool("send_mail", "Send it.", schema, with_validation(Mail, send), approval="ask")]


@pytest.fixture
def mail_tool(monkeypatch: pytest.MonkeyPatch) -> MailTool:
    box = MailTool()
    module = SimpleNamespace(tools=box.tools)
    monkeypatch.setattr(registry, "TOOL_MODULES", (*registry.TOOL_MODULES, module))
    return box


@pytest.fixture
async def principal(database: Database) -> Principal:
    return await register(database)


class Conversation:
    """One thread of one user, as a client has it."""

    def __init__(self, database: Database, principal: Principal, agent_type: str = "react") -> None:
        self.database = database
        self.runs = service_of(database, ExtractiveModel())
        self.principal = principal
        self.thread_id = str(uuid4())
        self.log: list[dict[str, Any]] = []
        self._agent_type = agent_type

    async def begin(
        self,
        runs: RunService | None = None,
        *,
        reject: RejectPolicy = RejectPolicy.RUN_OF_ANSWERS,
        **fields: Any,
    ) -> str:
        body = {"threadId": self.thread_id, "runId": str(uuid4()), "messages": [], **fields}
        props = {"agent_type": self._agent_type}
        request = read_run_request({**body, "forwardedProps": props})
        return await (runs or self.runs).start(self.principal, request, reject=reject)

    async def run(self, runs: RunService | None = None, **fields: Any) -> list[dict[str, Any]]:
        key = await self.begin(runs, **fields)
        events = await follow(runs or self.runs, key)
        self.log += events
        verify(self.log, thread_id=self.thread_id)
        return events

    async def ask(self, text: str, **fields: Any) -> list[dict[str, Any]]:
        message = {"id": str(uuid4()), "role": "user", "content": text}
        return await self.run(messages=[message], **fields)

    async def messages(self) -> list[ChatMessage]:
        async with self.database.reading() as session:
            thread = await sessions.get(session, self.principal, self.thread_id)
            listed = await sessions.list_messages(session, thread, before_id=None, limit=10)
        return list(listed.items)

    async def answer(self, interrupt: dict[str, Any], payload: Any) -> list[dict[str, Any]]:
        return await self.run(resume=[resolved(interrupt, payload)])


def resolved(interrupt: dict[str, Any], payload: Any) -> dict[str, Any]:
    return {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}


def cancelled(interrupt: dict[str, Any]) -> dict[str, Any]:
    return {"interruptId": interrupt["id"], "status": "cancelled"}


def interrupts_of(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    assert events[-1]["outcome"]["type"] == "interrupt"
    return events[-1]["outcome"]["interrupts"]


def results_of(events: list[dict[str, Any]]) -> list[str]:
    return [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]


def kinds_of(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


@one_database
@pytest.mark.parametrize("agent_type", ["react", "agentic_rag", "plan_execute", "reflexion", "worker"])
async def test_answer_of_a_person_is_the_result_of_the_call(database, principal, agent_type):
    talk = Conversation(database, principal, agent_type)
    asked = await talk.ask(ASK_INPUT)
    assert kinds_of(asked)[-3:] == ["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    (interrupt,) = interrupts_of(asked)
    assert (interrupt["reason"], interrupt["message"]) == ("input_required", "Which address?")

    events = await talk.answer(interrupt, {"input": "a@example.com"})
    assert results_of(events) == ['{"input": "a@example.com"}']
    assert "TOOL_CALL_START" not in kinds_of(events)
    assert "outcome" not in events[-1]
    text = "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")
    assert "a@example.com" in text
    (call,) = (await talk.messages())[-1].details["tool_calls"]
    assert (call["tool"], call["input"]) == ("request_input", {"prompt": "Which address?"})
    assert call["output"] == {"input": "a@example.com"}


@pytest.mark.parametrize(("command", "asks"), [(ASK_INPUT, True), ("/tool where_am_i {}", False)])
async def test_who_comes_again_sees_what_was_called_and_asked(database, principal, command, asks):
    talk = Conversation(database, principal)
    events = await talk.ask(command, tools=[WHERE])
    (start,) = [event for event in events if event["type"] == "TOOL_CALL_START"]
    asked, waiting = await talk.messages()
    name = command.split()[1]

    assert (asked.role, waiting.role, waiting.content) == ("user", "assistant", "")
    assert waiting.message_id == start["parentMessageId"]
    assert [call["tool"] for call in waiting.details["tool_calls"]] == [name]
    told = [
        {
            "id": one["id"],
            "reason": "input_required",
            "message": "Which address?",
            "tool_call_id": start["toolCallId"],
        }
        for one in (interrupts_of(events) if asks else ())
    ]
    assert waiting.details.get("interrupts", []) == told
    # Others who read the thread are given what was said, and nobody said this.
    async with database.reading() as session:
        day = await read_day(session, principal, talk.thread_id, before=None)
    assert [message.row.content for message in day.messages] == [command]


@one_database
async def test_model_is_given_no_message_without_text(database, principal):
    talk = Conversation(database, principal)
    talk.runs = service_of(database, InputRequestingModel(is_silent=False))
    (interrupt,) = interrupts_of(await talk.ask("Write to me."))
    await talk.answer(interrupt, {"input": "a@example.com"})
    async with unit_of_work(database) as work:
        thread = await sessions.get(work.session, principal, talk.thread_id)
        plan = plan_of(make_request("And now?", threadId=talk.thread_id), "react", driver="me")
        run = await store.start(work, principal, plan, recheck=True)

    assert thread.message_count == 4
    assert [message.content for message in run.history] == ["Write to me.", "Thanks"]


async def test_call_is_run_once_a_person_agrees(database, principal, mail_tool):
    talk = Conversation(database, principal)
    (interrupt,) = interrupts_of(await talk.ask(SEND))
    assert interrupt["reason"] == "tool_call"
    assert interrupt["metadata"]["arguments"] == {"to": "a@example.com"}
    assert mail_tool.sent == []

    events = await talk.answer(interrupt, {"approved": True})
    assert results_of(events) == ["Sent to a@example.com."]
    assert mail_tool.sent == ["a@example.com"]


@one_database
async def test_call_is_run_with_the_arguments_a_person_gives(database, principal, mail_tool):
    talk = Conversation(database, principal)
    (interrupt,) = interrupts_of(await talk.ask(SEND))
    answer = {"approved": True, "editedArgs": {"to": "b@example.com"}}
    await talk.answer(interrupt, answer)

    assert mail_tool.sent == ["b@example.com"]


@one_database
async def test_run_keeps_its_policies_but_not_what_the_operator_switched_off(database, principal, mail_tool):
    talk = Conversation(database, principal)
    (interrupt,) = interrupts_of(await talk.ask(SEND))
    later = service_of(database, ExtractiveModel(), tools={"send_mail": "never"})
    events = await talk.run(later, resume=[resolved(interrupt, {"approved": True})])

    assert "send_mail is switched off" in results_of(events)[0]
    assert mail_tool.sent == []


@one_database
@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ({"approved": False}, "Declined"),
        ({"approved": False, "response": "Ask Ann."}, "The user answered instead: Ask Ann."),
    ],
)
async def test_call_that_a_person_declines_is_not_run(database, principal, mail_tool, payload, said):
    talk = Conversation(database, principal)
    (interrupt,) = interrupts_of(await talk.ask(SEND))
    events = await talk.answer(interrupt, payload)

    assert results_of(events)[0].startswith(said)
    assert mail_tool.sent == []
    assert "outcome" not in events[-1]


@one_database
async def test_arguments_that_fit_no_tool_are_never_asked_about(database, principal, mail_tool):
    events = await Conversation(database, principal).ask('/tool send_mail {"too": 1}')

    assert "outcome" not in events[-1]
    assert "arguments are not valid" in results_of(events)[0]
    assert mail_tool.sent == []


@one_database
@pytest.mark.parametrize("payload", [None, {}, {"approved": "yes"}, {"approved": True, "editedArgs": {"to": 5}}])
async def test_answer_of_another_shape_changes_nothing(database, principal, mail_tool, payload):
    talk = Conversation(database, principal)
    (interrupt,) = interrupts_of(await talk.ask(SEND))
    events = await talk.answer(interrupt, payload)

    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "INTERRUPT_ANSWER_INVALID")
    assert mail_tool.sent == []
    # It is still open, and the right answer still counts.
    await talk.answer(interrupt, {"approved": True})
    assert mail_tool.sent == ["a@example.com"]


@one_database
async def test_question_of_another_kind_is_refused_while_an_answer_is_open(database, principal):
    talk = Conversation(database, principal)
    await talk.ask(ASK_CONFIRM)
    with pytest.raises(InterruptsOpen):
        await talk.ask("hello")


@one_database
async def test_question_can_be_refused_by_a_run_that_leaves_the_thread_as_it_was(database, principal, mail_tool):
    talk = Conversation(database, principal)
    interrupts = interrupts_of(await talk.ask(SEND))
    events = await talk.ask("hello", reject=RejectPolicy.RUN)

    assert kinds_of(events) == ["RUN_STARTED", "STATE_SNAPSHOT", "RUN_ERROR"]
    assert events[-1]["code"] == "INTERRUPTS_OPEN"
    # Who comes late still learns what is asked, though the newest run is an error.
    joined = await talk.runs.join(principal, talk.thread_id)
    assert interrupts_of(joined.prelude) == interrupts
    assert [m["content"] for m in joined.prelude[2]["messages"] if m["role"] == "user"] == [SEND]
    await talk.answer(interrupts[0], {"approved": True})
    assert mail_tool.sent == ["a@example.com"]
    joined = await talk.runs.join(principal, talk.thread_id)
    assert "outcome" not in joined.prelude[-1]


@one_database
async def test_refusal_is_told_in_the_language_of_the_question(database, principal, mail_tool):
    talk = Conversation(database, principal)
    await talk.ask(SEND)
    refused = await talk.ask("端口是多少？", reject=RejectPolicy.RUN)
    assert refused[-1]["message"] == InterruptsOpen.message_zh
    # What only answers is told in the language of what was asked before.
    answered = await talk.run(resume=[cancelled({"id": "?"})], reject=RejectPolicy.RUN)
    assert answered[-1]["message"] == InterruptsOpen.message


@one_database
async def test_result_of_a_call_is_told_with_its_name_when_a_run_was_refused_meanwhile(database, principal, mail_tool):
    talk = Conversation(database, principal)
    (interrupt,) = interrupts_of(await talk.ask(SEND))
    await talk.ask("hello", reject=RejectPolicy.RUN)
    await talk.answer(interrupt, {"approved": True})
    async with database.reading() as session:
        place = await find_position(session, principal, talk.thread_id, None)
    feed = follow_thread(database, talk.runs, place)
    told = [frame.event async for frames in feed for frame in frames]

    (result,) = [event for event in told if event["type"] == "TOOL_CALL_RESULT"]
    assert (result["tool_name"], result["result"]) == ("send_mail", "Sent to a@example.com.")


@one_database
async def test_interrupt_can_always_be_cancelled(database, principal, mail_tool):
    talk = Conversation(database, principal)
    (interrupt,) = interrupts_of(await talk.ask(SEND))
    async with database.writing() as session:
        row = await session.get_one(RunInterrupt, interrupt["id"])
        row.expires_at = row.created_at
        session.add(row)
    late = await talk.answer(interrupt, {"approved": True})
    assert late[-1]["code"] == "INTERRUPT_NOT_OPEN"
    events = await talk.run(resume=[cancelled(interrupt)])

    assert "outcome" not in events[-1]
    assert mail_tool.sent == []
    again = await talk.run(resume=[cancelled({"id": "never asked"})])
    assert kinds_of(again) == ["RUN_STARTED", "STATE_SNAPSHOT", "RUN_FINISHED"]


async def test_interrupt_can_be_answered_when_the_knowledge_base_of_its_thread_is_gone(database, principal, mail_tool):
    talk = Conversation(database, principal)
    (interrupt,) = interrupts_of(await talk.ask(SEND))
    async with database.writing() as session:
        thread = await sessions.get(session, principal, talk.thread_id)
        thread.config = {"knowledge_base_ids": ["gone"]}
        session.add(thread)
    await talk.answer(interrupt, {"approved": True})

    assert mail_tool.sent == ["a@example.com"]


async def test_question_does_not_give_up_what_the_thread_came_to_wait_for_meanwhile(database, principal, monkeypatch):
    talk = Conversation(database, principal)
    plan = talk.runs._planner._plan

    async def while_another_asks(*given: Any) -> Any:
        planned = await plan(*given)
        monkeypatch.undo()
        await talk.ask(ASK_CONFIRM)
        return planned

    await talk.ask("hello")
    monkeypatch.setattr(talk.runs._planner, "_plan", while_another_asks)
    with pytest.raises(ThreadBusy):
        await talk.ask("hello again")
    with pytest.raises(InterruptsOpen):
        await talk.ask("hello again")


async def test_same_answer_twice_acts_once_and_another_one_is_refused(database, principal, mail_tool):
    talk = Conversation(database, principal)
    (interrupt,) = interrupts_of(await talk.ask(SEND))
    await talk.answer(interrupt, {"approved": True})
    again = await talk.answer(interrupt, {"approved": True})
    assert again[-1]["type"] == "RUN_FINISHED"
    other = await talk.answer(interrupt, {"approved": False})

    assert other[-1]["code"] == "INTERRUPT_ANSWERED"
    assert mail_tool.sent == ["a@example.com"]


async def test_late_answers_are_looked_up_at_once(database, principal, mail_tool):
    talk = Conversation(database, principal)
    (interrupt,) = interrupts_of(await talk.ask(SEND))
    await talk.answer(interrupt, {"approved": True})
    same = resolved(interrupt, {"approved": True})
    unknown = [resolved({"id": str(uuid4())}, {"approved": True}) for _ in range(9)]
    with statements_of(database) as sent:
        assert (await talk.run(resume=[same, *unknown]))[-1]["code"] == "INTERRUPT_NOT_OPEN"
    assert len([statement for statement in sent if "FROM run_interrupt" in statement]) == 1


async def test_of_two_answers_at_once_one_counts(database, principal, mail_tool):
    talk = Conversation(database, principal)
    (interrupt,) = interrupts_of(await talk.ask(SEND))
    elsewhere = service_of(database, ExtractiveModel())
    answers = [resolved(interrupt, {"approved": True})]
    begun = await asyncio.gather(
        talk.begin(resume=answers),
        talk.begin(elsewhere, resume=answers),
        return_exceptions=True,
    )
    keys = [key for key in begun if isinstance(key, str)]
    for key in keys:
        await follow(talk.runs, key)

    assert all(isinstance(one, str | ThreadBusy) for one in begun)
    assert mail_tool.sent == ["a@example.com"]


async def test_waiting_survives_the_process(database, principal, mail_tool):
    talk = Conversation(database, principal)
    (interrupt,) = interrupts_of(await talk.ask(SEND))
    await talk.runs.drain(0)
    talk.runs = service_of(database, ExtractiveModel())
    await talk.answer(interrupt, {"approved": True})

    assert mail_tool.sent == ["a@example.com"]


@one_database
async def test_answered_run_whose_process_dies_before_the_call_is_taken_up(database, principal, mail_tool, monkeypatch):
    talk = Conversation(database, principal)
    (interrupt,) = interrupts_of(await talk.ask(SEND))
    # The process dies once the answer is written down: nothing is launched.
    monkeypatch.setattr(talk.runs, "_spawn", lambda run, prepare: None)
    key = await talk.begin(resume=[resolved(interrupt, {"approved": True})])
    async with database.writing() as session:
        run = await session.get_one(AgentRun, key)
        run.lease_until = run.created_at
        session.add(run)
    successor = service_of(database, ExtractiveModel())
    assert await successor.recover_lost() >= 1
    talk.log += await follow(successor, key)

    verify(talk.log, thread_id=talk.thread_id)
    assert mail_tool.sent == ["a@example.com"]


@one_database
async def test_call_that_may_have_happened_is_not_made_again(database, principal, mail_tool, monkeypatch):
    talk = Conversation(database, principal)
    (interrupt,) = interrupts_of(await talk.ask(SEND))

    async def hang(self: object, *args: object, **kwargs: object) -> None:
        mail_tool.sent.append("a@example.com")
        await asyncio.Event().wait()

    with monkeypatch.context() as patched:
        patched.setattr("agents.tools.base.Toolbox.call", hang)
        key = await talk.begin(resume=[resolved(interrupt, {"approved": True})])
        async with asyncio.timeout(10):
            while not mail_tool.sent:  # noqa: ASYNC110 - the tool of the test has no event
                await asyncio.sleep(0.01)
        for task in list(talk.runs._tasks):
            task.cancel()
        await asyncio.wait(set(talk.runs._tasks))
    async with database.writing() as session:
        run = await session.get_one(AgentRun, key)
        run.lease_until = run.created_at
        session.add(run)
    successor = service_of(database, ExtractiveModel())
    assert await successor.recover_lost() >= 1
    events = await follow(successor, key)

    verify([*talk.log, *events], thread_id=talk.thread_id)
    assert "whether this call took effect is not known" in results_of(events)[0]
    assert mail_tool.sent == ["a@example.com"]


async def answered_and_died(talk: Conversation, *, at: str = "TEXT_MESSAGE_CONTENT") -> str:
    """The run that goes on after an answer, whose process dies once its log has an event."""
    (interrupt,) = interrupts_of(await talk.ask("Write to me."))
    key = await talk.begin(resume=[resolved(interrupt, {"input": "a@example.com"})])
    await until(talk.runs, key, at)
    await talk.runs.drain(0)
    return key


@one_database
async def test_answered_run_whose_process_dies_after_the_result_is_taken_up(database, principal):
    talk = Conversation(database, principal)
    talk.runs = service_of(database, InputRequestingModel(is_silent=True))
    key = await answered_and_died(talk)
    successor = service_of(database, InputRequestingModel(is_silent=False))
    assert await successor.recover_lost() >= 1
    events = await follow(successor, key)

    verify([*talk.log, *events], thread_id=talk.thread_id)
    assert events[-1]["type"] == "RUN_FINISHED"
    assert results_of(events) == ['{"input": "a@example.com"}']


@one_database
@pytest.mark.parametrize("at", ["TEXT_MESSAGE_CONTENT", "RUN_STARTED"])
async def test_answered_run_whose_process_dies_can_be_stopped(database, principal, monkeypatch, at):
    talk = Conversation(database, principal)
    talk.runs = service_of(database, InputRequestingModel(is_silent=True))
    if at == "RUN_STARTED":
        # Before it told anything of the call.
        began = iter([talk.runs._spawn, lambda run, prepare: None])
        monkeypatch.setattr(talk.runs, "_spawn", lambda run, prepare: next(began)(run, prepare))
    key = await answered_and_died(talk, at=at)
    successor = service_of(database, ExtractiveModel())
    async with database.reading() as session:
        run_id = (await session.get_one(AgentRun, key)).run_id
    assert await successor.stop(principal, run_id)
    events = await follow(successor, key)

    verify([*talk.log, *events], thread_id=talk.thread_id)
    assert events[-1]["outcome"] == {"type": "cancelled"}
    assert len(results_of(events)) == 1


@one_database
async def test_frontend_makes_the_call_and_the_next_run_goes_on(database, principal):
    talk = Conversation(database, principal)
    events = await talk.ask("/tool where_am_i {}", tools=[WHERE])
    call_id = next(e["toolCallId"] for e in events if e["type"] == "TOOL_CALL_START")
    assert events[-1]["outcome"] == {"type": "success", "pendingToolCallIds": [call_id]}
    assert results_of(events) == []
    message = {"id": "t1", "role": "tool", "toolCallId": call_id, "content": "In Ulm."}
    went_on = await talk.run(messages=[message], tools=[WHERE])

    assert results_of(went_on) == ["In Ulm."]
    assert went_on[-1]["type"] == "RUN_FINISHED"
    assert "outcome" not in went_on[-1]


@one_database
@pytest.mark.parametrize(
    ("said", "result"),
    [
        ({"content": "", "error": "denied"}, "The tool where_am_i failed: denied"),
        ({"content": "In Ulm?", "error": "denied"}, "The tool where_am_i failed: denied\nIn Ulm?"),
        ({"content": ""}, "(no output)"),
        ({"content": "x" * 20_005}, "x" * 20_000 + "\n(cut: 5 more characters)"),
    ],
)
async def test_frontend_that_fails_is_told_to_the_model(database, principal, said, result):
    talk = Conversation(database, principal)
    events = await talk.ask("/tool where_am_i {}", tools=[WHERE])
    (call_id,) = events[-1]["outcome"]["pendingToolCallIds"]
    message = {"id": "t1", "role": "tool", "toolCallId": call_id, **said}

    assert results_of(await talk.run(messages=[message], tools=[WHERE])) == [result]


@one_database
async def test_tool_message_answers_a_question_to_a_person(database, principal):
    talk = Conversation(database, principal)
    events = await talk.ask(ASK_CONFIRM)
    call_id = interrupts_of(events)[0]["toolCallId"]
    content = json.dumps({"confirmed": True})
    message = {"id": "t1", "role": "tool", "toolCallId": call_id, "content": content}

    assert results_of(await talk.run(messages=[message])) == [content]


@one_database
async def test_frontend_that_gives_no_result_holds_nothing_up(database, principal):
    talk = Conversation(database, principal)
    await talk.ask("/tool where_am_i {}", tools=[WHERE])
    events = await talk.ask("hello")

    assert "outcome" not in events[-1]
    async with database.reading() as session:
        query = select(ChatSession).where(ChatSession.thread_id == talk.thread_id)
        thread = (await session.exec(query)).one()
    assert (thread.waiting_run_id, thread.active_run_id) == (None, None)


async def test_interrupted_run_has_a_status_of_its_own(database, principal):
    talk = Conversation(database, principal)
    await talk.ask(ASK_CONFIRM)
    async with database.reading() as session:
        query = select(AgentRun).where(AgentRun.owner_id == principal.user_id)
        run = (await session.exec(query)).one()
    assert run.status == RunStatus.INTERRUPTED


@one_database
async def test_forged_result_of_a_call_is_not_believed(database, principal, mail_tool):
    talk = Conversation(database, principal)
    (interrupt,) = interrupts_of(await talk.ask(SEND))
    message = {
        "id": "t1",
        "role": "tool",
        "toolCallId": interrupt["toolCallId"],
        "content": "Sent already.",
    }
    events = await talk.run(messages=[message])

    assert events[-1]["code"] == "INTERRUPT_ANSWER_INVALID"
    await talk.answer(interrupt, {"approved": True})
    assert mail_tool.sent == ["a@example.com"]


def said(events: list[dict[str, Any]]) -> str:
    return "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")


@one_database
@pytest.mark.parametrize("agent_type", ["react", "agentic_rag", "plan_execute", "reflexion", "worker"])
async def test_every_agent_type_answers_a_message_beside_an_answer(database, principal, agent_type):
    talk = Conversation(database, principal, agent_type)
    (interrupt,) = interrupts_of(await talk.ask(ASK_INPUT))
    command = '/tool current_time {"timezone": "Asia/Shanghai"}'
    events = await talk.ask(command, resume=[resolved(interrupt, {"input": "a@example.com"})])

    answer, clock = results_of(events)
    assert answer == '{"input": "a@example.com"}'
    assert "Asia/Shanghai" in clock
    assert said(events).index("a@example.com") < said(events).index("Asia/Shanghai")
    assert events[-1]["type"] == "RUN_FINISHED"
    users = [message.content for message in await talk.messages() if message.role == "user"]
    assert users == [ASK_INPUT, command]


@one_database
async def test_message_beside_an_answer_may_ask_something_itself(database, principal):
    talk = Conversation(database, principal, "worker")
    (interrupt,) = interrupts_of(await talk.ask(ASK_INPUT))
    waiting = await talk.ask(ASK_CONFIRM, resume=[resolved(interrupt, {"input": "a@example.com"})])
    (interrupt,) = interrupts_of(waiting)
    assert interrupt["reason"] == "confirmation"
    events = await talk.answer(interrupt, {"confirmed": True})

    assert results_of(events) == ['{"confirmed": true}']
    assert "a@example.com" not in said(events)
    assert (await talk.messages())[-1].role == "assistant"


@one_database
@pytest.mark.parametrize("at", ["RUN_STARTED", "TOOL_CALL_RESULT", "TEXT_MESSAGE_END"])
async def test_message_beside_an_answer_survives_the_process(database, principal, at):
    talk = Conversation(database, principal)
    (interrupt,) = interrupts_of(await talk.ask(ASK_INPUT))
    message = {"id": "beside", "role": "user", "content": '/tool current_time {"timezone": "UTC"}'}
    key = await talk.begin(messages=[message], resume=[resolved(interrupt, {"input": "a@example.com"})])
    await until(talk.runs, key, at)
    await talk.runs.drain(0)
    successor = service_of(database, ExtractiveModel())
    await successor.recover_lost()
    events = await follow(successor, key)

    verify([*talk.log, *events], thread_id=talk.thread_id)
    assert events[-1]["type"] == "RUN_FINISHED"
    assert len(results_of(events)) == 2
    users = [message.message_id for message in await talk.messages() if message.role == "user"]
    assert users.count("beside") == 1
