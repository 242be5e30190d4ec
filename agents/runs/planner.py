"""What becomes of a request before its run begins: what it will be, and what it is given."""

import asyncio
from dataclasses import dataclass, replace

from pydantic import JsonValue
from sqlmodel.ext.asyncio.session import AsyncSession

from agents import event_log
from agents.agui.message_reducer import MessageReducer
from agents.mcp.service import FIRST_LOOK_SECONDS, ProbeResult
from agents.run_request import RunRequest
from agents.runs import plan as runs_plan
from agents.runs import recovery, resume, threads
from agents.runs.builder import Given, RunBuilder
from agents.runs.driver import Course
from agents.runs.mcp_tools import McpSelection
from agents.runs.plan import Asked, RunLease, RunPlan, SeenThread
from agents.runs.resume import NoOp, RejectPolicy, Resume
from agents.runs.store import StartedRun
from agents.sessions.service import last_question
from core.auth.principal import Principal
from core.db.database import Database
from core.errors.conflicts import SessionArchived
from core.errors.requests import InvalidRunInput

# All at once they would be late together, and those that are under way with them.
_BEGIN_AT_ONCE = 4


@dataclass(frozen=True)
class Planned:
    """A run that is about to begin, and what was read for it.

    Args:
        plan: what it will be.
        request: what is asked, with what it reaches.
        given: what it gets.
        decided: what the request means for what its thread waits for.
        looks: at MCP servers that were never seen.
        state: the shared state as the run that waited left it.
    """

    plan: RunPlan
    request: RunRequest
    given: Given
    decided: Resume | NoOp | None
    looks: set[asyncio.Task[ProbeResult]]
    state: JsonValue = None


class Planner:
    """Reads what runs that are about to begin need.

    Args:
        database: where it is read.
        builder: of the runs.
        lease: what they begin with.
    """

    def __init__(self, database: Database, builder: RunBuilder, lease: RunLease) -> None:
        self._database = database
        self._builder = builder
        self._lease = lease
        self.door = asyncio.Semaphore(_BEGIN_AT_ONCE)
        """Whoever goes on to write what was planned takes their turn at it too."""

    async def plan(
        self, principal: Principal, request: RunRequest, refusal: RejectPolicy
    ) -> Planned:
        """What the run will be, planned anew once servers never seen have shown their tools.

        Raises:
            AgentexError: as :meth:`RunService.begin` does for what was asked.
        """
        async with self.door:
            planned = await self._plan(principal, request, refusal)
        if not planned.looks:
            return planned
        await asyncio.wait(planned.looks, timeout=FIRST_LOOK_SECONDS)
        async with self.door:
            return await self._plan(principal, request, refusal)

    async def _plan(
        self, principal: Principal, request: RunRequest, refusal: RejectPolicy
    ) -> Planned:
        builder = self._builder
        async with self._database.reading() as session:
            thread = await threads.find_thread(session, principal, request.thread_id)
            if thread is not None and thread.is_archived:
                raise SessionArchived
            decided = await resume.decide(session, thread, request, refusal)
            if isinstance(decided, NoOp) and thread is not None:
                question = request.question or await last_question(session, thread.id)
                decided = replace(decided, question=question)
            agent_type = runs_plan.agent_type_of(request, thread)
            asked = Asked(request, thread, decided)
            rows = await runs_plan.knowledge_bases_of(session, principal, asked)
            model = await runs_plan.model_of(session, builder.models, principal, asked)
            allowed = await builder.limits.read(session)
            owner = await runs_plan.owner_of(session, principal)
            skills = await runs_plan.skills_of(session, principal, asked)
            asked = replace(asked, request=replace(request, skills=skills.chosen))
            reached = await self._reached(session, principal, asked)
            state = await _state_of(session, decided)
        request = replace(
            reached.request, profile_timezone=owner.time_zone, lacking=principal.lacking
        )
        if decided is None and not request.messages:
            raise InvalidRunInput(field="messages", error="no call of this thread waits for one")
        plan = RunPlan(
            agent_type,
            self._lease,
            model.ref,
            tuple(row.id for row in rows),
            waits_for=None if thread is None else thread.waiting_run_id,
            most_sessions=allowed.most_sessions,
            seen=SeenThread(None if thread is None else thread.id),
        )
        plan, request = runs_plan.settle_plan(plan, request, decided)
        given = Given(rows, model, allowed.limits, owner.memory, skills.cards, reached.connections)
        return Planned(plan, request, given, decided, reached.looks, state)

    async def _reached(
        self, session: AsyncSession, principal: Principal, asked: Asked
    ) -> McpSelection:
        builder = self._builder
        request = asked.request
        if asked.decided is None:
            reached = await builder.reaching.choose(session, principal, request, asked.thread)
            return replace(reached, request=runs_plan.loadable(reached.request, asked))
        # What a task reaches was chosen when it began.
        return McpSelection(
            await runs_plan.with_policies(session, principal, request, builder.policies)
        )

    async def course(self, run: StartedRun, planned: Planned) -> Course:
        """The course of a run that began as it was planned."""
        request, given = planned.request, planned.given
        match planned.decided:
            case Resume():
                async with self._database.reading() as session:
                    unfinished = await recovery.load(session, run.key)
                return await self._builder.again(unfinished)
            case NoOp() as nothing:
                return self._builder.settled(run, request, nothing, given.model)
            case None:
                return await self._builder.fresh(run, request, given)


async def _state_of(session: AsyncSession, decided: Resume | NoOp | None) -> JsonValue:
    if not isinstance(decided, Resume):
        return None
    fold = MessageReducer()
    for event in await event_log.read_all(session, decided.waiting.run.id):
        fold.observe(event)
    return fold.state
