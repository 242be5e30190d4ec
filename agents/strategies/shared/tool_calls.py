"""Tool calls as effects: run once, read back in a replay, held for a person."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from pydantic import JsonValue, TypeAdapter

from agents.events import Interrupt, ToolCallResult
from agents.evidence import Evidence, EvidenceFinding, read_passages, record_findings
from agents.journal import Effect
from agents.llm.base import ModelMessage, ToolCall
from agents.skills.run_skills import ALWAYS_ALLOWED
from agents.strategies.shared.base import PendingCalls, Strategy, Suspended
from agents.strategies.shared.budget import Budget
from agents.strategies.shared.call_progress import CallProgressFeed
from agents.tools import load_skill, search_knowledge_base
from agents.tools.approval import build_call_question, build_interrupt
from agents.tools.base import CallPreview, Tool, Toolbox, ToolOutput
from agents.tools.live_call import CallQuestion, CallSuspended, LiveCall
from core.db.types import utc_now
from core.errors.base import AgentexError
from core.errors.registry import error_for_code
from core.json_access import as_object, as_text, parse
from core.logging import get_logger

LATE_CALL = "Not run: the time for this run was used up."
UNKNOWN_OUTCOME = "Interrupted: whether this call took effect is not known. Check that before it is made again."
ANSWER_DAYS = 7
_DAY_SECONDS = 86_400

_log = get_logger(__name__)
_FINDINGS = TypeAdapter(list[EvidenceFinding])


class ToolCallRunner:
    """Runs the calls of a run, or reads back their results."""

    def __init__(self, strategy: Strategy, budget: Budget, evidence: Evidence) -> None:
        self._strategy = strategy
        self.budget = budget
        self._evidence = evidence

    async def run(self, calls: Sequence[ToolCall], tools: Toolbox) -> list[ToolOutput]:
        """Run calls: idempotent ones side by side, others alone and in order.

        Raises ``Suspended`` if some wait for a person or the caller's frontend; the others are done.
        """
        try:
            return await self._run_all(calls, tools)
        finally:
            if (skills := self._strategy.context.skills) is not None:
                skills.mark_read()

    async def _run_all(self, calls: Sequence[ToolCall], tools: Toolbox) -> list[ToolOutput]:
        done = await self._run_first(calls, tools)
        ready = [call for call in calls if call.id not in done and not self._waits(call, tools)]
        if all(_may_be_beside_others(tools.get(call.name)) for call in ready):
            outputs = await asyncio.gather(*(self.run_one(call, tools) for call in ready))
        else:
            outputs = [await self.run_one(call, tools) for call in ready]
        done |= {call.id: output for call, output in zip(ready, outputs, strict=True) if output is not None}
        waiting = [call for call in calls if call.id not in done]
        if waiting:
            raise Suspended(self._wait(waiting, tools))
        return [done[call.id] for call in calls]

    async def _run_first(self, calls: Sequence[ToolCall], tools: Toolbox) -> dict[str, ToolOutput]:
        """Run or hold the calls that decide whether others are allowed."""
        done: dict[str, ToolOutput] = {}
        for call in calls:
            tool = tools.get(call.name)
            if tool is None or tool.preview is None:
                continue
            effect = self._strategy.context.journal.find(_key(call))
            outcome = effect or await self._preview(call, tool, tools)
            if isinstance(outcome, Effect) and outcome.status == "waiting":
                self._hold_skill(call, outcome)
            else:
                outcome = outcome if isinstance(outcome, ToolOutput) else None
                output = await self.run_one(call, tools, outcome)
                if output is not None:
                    done[call.id] = output
        return done

    async def _preview(self, call: ToolCall, tool: Tool, tools: Toolbox) -> Effect | ToolOutput | None:
        """The effect of a waiting call or the result of an impossible one; else None."""
        try:
            async with asyncio.timeout(self.budget.acting_seconds_left):
                preview = await tools.preview_call(call.name, call.arguments)
        except TimeoutError:
            return self._too_late()
        if isinstance(preview, ToolOutput):
            return preview
        is_waiting = preview.question is not None or self._waits(call, tools)
        return self._hold(call, tool, preview) if is_waiting else None

    def _too_late(self) -> ToolOutput:
        self.budget.end("time")
        return ToolOutput(LATE_CALL, ran=False)

    def _hold_skill(self, call: ToolCall, effect: Effect) -> None:
        skills = self._strategy.context.skills
        if skills is not None and "skill" in effect.outcome:
            skills.hold_pending(call.id, effect.outcome["skill"])

    def _waits(self, call: ToolCall, tools: Toolbox) -> bool:
        """Whether the call waits for a person or the frontend."""
        effect = self._strategy.context.journal.find(_key(call))
        if effect is not None:
            return effect.status == "waiting"
        tool = tools.get(call.name)
        if tool is None or not tool.needs_others:
            return False
        # Nobody is asked about a call that could not run anyway.
        return tools.call_error(call.name, call.arguments) is None

    def _wait(self, calls: Sequence[ToolCall], tools: Toolbox) -> PendingCalls:
        interrupts: list[Interrupt] = []
        frontend: list[str] = []
        for call in calls:
            effect = self._strategy.context.journal.find(_key(call))
            tool = tools.get(call.name)
            if effect is None:
                effect = self._hold(call, tool)
            interrupt = effect.outcome.get("interrupt")
            if interrupt is None:
                frontend.append(call.id)
            else:
                interrupts.append(TypeAdapter(Interrupt).validate_python(interrupt))
        return PendingCalls(tuple(interrupts), tuple(frontend))

    def _hold(self, call: ToolCall, tool: Tool | None, preview: CallPreview | None = None) -> Effect:
        about: dict[str, JsonValue] = {"name": call.name, "arguments": call.arguments}
        if tool is not None and tool.side == "server":
            until = (utc_now() + timedelta(days=ANSWER_DAYS)).isoformat()
            is_chinese = self._strategy.is_chinese
            prompt = preview.question if preview else None
            interrupt = build_interrupt(tool, call, until=until, is_chinese=is_chinese, prompt=prompt)
            if preview is not None and preview.skill is not None:
                about["skill"] = preview.skill
            about["interrupt"] = TypeAdapter(Interrupt).dump_python(interrupt, mode="json")
        return self._strategy.context.journal.write(_key(call), about, "waiting")

    async def run_one(self, call: ToolCall, tools: Toolbox, ready: ToolOutput | None = None) -> ToolOutput | None:
        """Run one call while there is time, or use its ``ready`` result, and show the result.

        None if the call itself asks a person and waits.
        """
        journal, key = self._strategy.context.journal, _key(call)
        past, refusal = journal.read(key), tools.refusal(call.name)
        if past is None:
            ended = _without_findings(ready) if ready else await self._run_now(call, tools, refusal=refusal)
            if ended is None:
                return None
            output, findings = ended
            done = self._skill_note(call)
            # A failed call does not change skills.
            note = done if is_success(output) else None
            noted: dict[str, JsonValue] = {"skill_note": note} if note else {}
            journal.write(key, {**_outcome(output, findings), **noted})
        else:
            output, note = self._read_back(past), past.outcome.get("skill_note")
        if (skills := self._strategy.context.skills) is not None:
            skills.release_pending(call.id)
            skills.apply(call, output.content, note)
        result = ToolCallResult(f"result_{call.id}", call.id, output.content)
        if past is None or journal.is_answered(key):
            self._strategy.channel.emit(result)
        else:
            self._strategy.channel.observe(result)
        if past is None and refusal is not None:
            # Denials are counted, so a replay must find this one and its result in the log.
            await self._strategy.channel.written()
        return output

    def _skill_note(self, call: ToolCall) -> JsonValue:
        skills = self._strategy.context.skills
        return None if skills is None else skills.pop_note(call.id)

    async def _denied(self, call: ToolCall, refusal: str) -> ToolOutput:
        """The result of a call that the active skills do not allow."""
        try:
            if (skills := self._strategy.context.skills) is not None:
                await skills.record_denial(call.name)
        except AgentexError as error:
            # The call is refused anyway; this must not end the run.
            _log.error("skill.denial_not_noted", tool=call.name, error=type(error).__name__)
        return ToolOutput(refusal, ran=False)

    async def _run_now(
        self, call: ToolCall, tools: Toolbox, *, refusal: str | None
    ) -> tuple[ToolOutput, list[EvidenceFinding]] | None:
        journal, key = self._strategy.context.journal, _key(call)
        effect, tool = journal.find(key), tools.get(call.name)
        if refusal is not None:
            return await self._denied(call, refusal), []
        if effect is not None:
            self._hold_skill(call, effect)
        arguments, reply = call.arguments, None
        if effect is not None and effect.status == "approved":
            arguments = as_text(effect.outcome.get("arguments"))
            reply = as_object(effect.outcome.get("reply")) or None
        if not _is_idempotent(tool):
            if effect is not None and effect.status == "started":
                return ToolOutput(UNKNOWN_OUTCOME, ran=False), []
            # From here on the call may have happened.
            journal.write(key, {"name": call.name, "arguments": arguments}, "started")
            await self._strategy.channel.written()
        is_approved = effect is not None and effect.status == "approved"
        progress = CallProgressFeed(self._strategy.channel.emit, call)
        live = LiveCall(call.id, f"{journal.name}:{call.id}", progress.show, reply)
        with record_findings() as findings:
            try:
                async with asyncio.timeout(self.budget.acting_seconds_left):
                    output = await tools.call(call.name, arguments, live=live, is_approved=is_approved)
            except TimeoutError:
                return self._too_late(), []
            except CallSuspended as suspended:
                self._hold_question(call, arguments, suspended.question)
                return None
            finally:
                progress.end()
        return output, findings

    def _hold_question(self, call: ToolCall, arguments: str, question: CallQuestion) -> None:
        """Let a call wait for a person whom its server asks."""
        seconds = ANSWER_DAYS * _DAY_SECONDS if question.seconds is None else question.seconds
        until = (utc_now() + timedelta(seconds=seconds)).isoformat()
        is_chinese = self._strategy.is_chinese
        interrupt = build_call_question(call, arguments, question, until=until, is_chinese=is_chinese)
        about: dict[str, JsonValue] = {
            "name": call.name,
            "arguments": arguments,
            "state": question.state,
            "interrupt": TypeAdapter(Interrupt).dump_python(interrupt, mode="json"),
        }
        self._strategy.context.journal.write(_key(call), about, "waiting")

    def _read_back(self, past: Effect) -> ToolOutput:
        outcome = past.outcome
        for finding in _FINDINGS.validate_python(outcome.get("findings", [])):
            self._evidence.add(finding.passages, query=finding.query)
        if outcome.get("late"):
            self.budget.end("time")
        failure = outcome.get("failure")
        return ToolOutput(
            as_text(outcome.get("content")),
            ran=bool(outcome.get("ran")),
            failure=error_for_code(failure) if isinstance(failure, int) else None,
        )


def _without_findings(output: ToolOutput) -> tuple[ToolOutput, list[EvidenceFinding]]:
    return output, []


def _key(call: ToolCall) -> str:
    return f"call:{call.id}"


def _is_idempotent(tool: Tool | None) -> bool:
    return tool is None or tool.idempotent


def _may_be_beside_others(tool: Tool | None) -> bool:
    return _is_idempotent(tool) and not (tool is not None and tool.in_order)


def _outcome(output: ToolOutput, findings: Sequence[EvidenceFinding]) -> dict[str, JsonValue]:
    outcome: dict[str, JsonValue] = {"content": output.content, "ran": output.ran}
    if output.failure is not None:
        outcome["failure"] = output.failure.code
    if output.content == LATE_CALL:
        outcome["late"] = True
    if findings:
        outcome["findings"] = _FINDINGS.dump_python(list(findings), mode="json")
    return outcome


@dataclass(frozen=True, slots=True)
class ToolRound:
    """A round of calls; ``messages`` are the turn and its results."""

    messages: tuple[ModelMessage, ...]
    ran: int
    failed: int


def search_call(query: str, new_id: str) -> ToolCall:
    """A search call, with an id derived from a new one."""
    return _own_call(search_knowledge_base.NAME, {"query": query}, new_id)


def load_call(skill: str, new_id: str) -> ToolCall:
    """A call that loads a skill, with an id derived from a new one."""
    return _own_call(load_skill.NAME, {"name": skill}, new_id)


def _own_call(name: str, arguments: dict[str, str], new_id: str) -> ToolCall:
    text = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(f"call_{new_id.replace('-', '')}", name, text)


def is_success(output: ToolOutput) -> bool:
    """Whether a call succeeded."""
    return output.ran and output.failure is None


def is_uncited_source(call: ToolCall, output: ToolOutput) -> bool:
    """Whether uncited statements may rest on a result; not on a skill's text."""
    is_uncited = read_passages(output.content) is None
    return is_success(output) and is_uncited and call.name not in ALWAYS_ALLOWED


def call_signature(call: ToolCall) -> str:
    """Tool and arguments of a call, independent of JSON spelling."""
    try:
        arguments = json.dumps(parse(call.arguments or "{}"), sort_keys=True)
    except ValueError:
        arguments = call.arguments
    return f"{call.name} {arguments}"
