"""What a run is given: its model, its knowledge bases, its limits, and what it has done so far."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.attachments.service import AttachmentService
from agents.calendar.run_calendar import RunCalendar
from agents.client_time import UserClock
from agents.journal import Journal
from agents.llm.base import ChatModel, ModelImage
from agents.llm_registry.selection import ModelSelector, SelectedModel
from agents.mcp.connections import ConnectionWithTools
from agents.mcp.service import McpService
from agents.memory.service import MemoryService
from agents.run_request import RunRequest
from agents.runs import reflections
from agents.runs.driver import Course
from agents.runs.knowledge import KnowledgeBaseReader, KnowledgeBaseRetriever, RetrievalRecorder
from agents.runs.limits import LimitsProvider
from agents.runs.mcp_tools import McpBinding
from agents.runs.recovery import RecoverableRun
from agents.runs.resume import NoOp
from agents.runs.store import StartedRun
from agents.skills.active import RunTask
from agents.skills.factory import RunSkillsFactory
from agents.strategies import REFLECTING, start_noop, start_strategy
from agents.strategies.base import RunLimits, StrategyInput
from agents.strategies.vision import VisionInput
from core.auth.authentication import principal_for_user
from core.auth.permissions import Permission
from core.auth.users import MemoryChoices
from core.db.database import Database
from kb_service.knowledge_bases import sharing
from kb_service.models import KnowledgeBase
from kb_service.retrieval.service import Searcher
from skills.store.catalog import CatalogCard


@dataclass(frozen=True)
class RunServices:
    """What runs may be given of their owners.

    Args:
        memories: None for none.
        mcp: their connections to MCP servers; None for none.
        attachments: the images of their questions; None where there are none.
        skills: those that they may use; None for none.
    """

    memories: MemoryService | None = None
    attachments: AttachmentService | None = None
    mcp: McpService | None = None
    skills: RunSkillsFactory | None = None


@dataclass(frozen=True)
class Given:
    """What was read for a run when it was planned.

    Args:
        rows: the knowledge bases that it searches.
        model: answers.
        limits: what it may spend.
        memory: what its owner lets it know and remember.
        skills: that it may use.
        connections: to MCP servers, that it uses; None where they were not read.
    """

    rows: Sequence[KnowledgeBase]
    model: SelectedModel
    limits: RunLimits
    memory: MemoryChoices
    skills: Sequence[CatalogCard] = ()
    connections: Sequence[ConnectionWithTools] | None = None


class RunBuilder:
    """Makes the courses of runs.

    Args:
        database: where documents are.
        searcher: what agents search with.
        models: answer.
        limits: of each run.
        belongings: what runs may know of their owners.
    """

    def __init__(
        self,
        database: Database,
        searcher: Searcher,
        models: ModelSelector,
        limits: LimitsProvider,
        belongings: RunServices | None = None,
    ) -> None:
        self._database = database
        self._searcher = searcher
        self._belongings = belongings or RunServices()
        self.models = models
        self.limits = limits
        self.policies = limits.standing.policies
        self.reaching = McpBinding(database, self._belongings.mcp, limits.standing.policies)

    async def fresh(self, run: StartedRun, request: RunRequest, given: Given) -> Course:
        """The course of a run that begins."""
        model = given.model.model
        inputs = self._inputs(run, request, given.rows, model)
        inputs = await self._equipped(run, request, inputs, given)
        sight = await self._seeing(run, request, model)
        journal = Journal(run.task_id)
        inputs = replace(inputs, limits=given.limits, journal=journal, sight=sight)
        return Course(run, start_strategy(run.agent_type, inputs))

    def settled(
        self, run: StartedRun, request: RunRequest, decided: NoOp, chosen: SelectedModel
    ) -> Course:
        """The course of a run that has nothing to do."""
        inputs = self._inputs(run, request, (), chosen.model)
        return Course(run, start_noop(replace(inputs, question=decided.question), decided.refused))

    async def again(self, unfinished: RecoverableRun) -> Course:
        """The course of a run that was begun before, from where it stood.

        Raises:
            AccountDisabled: its owner is switched off.
            InvalidToken: its owner is gone.
        """
        run = unfinished.run
        async with self._database.reading() as session:
            owner = await principal_for_user(session, run.owner_id)
            rows = await sharing.reload_visible(session, owner, unfinished.knowledge_base_ids)
            chosen = await self.models.reopen(session, run.owner_id, unfinished.model)
        journal = Journal(run.task_id, unfinished.past, own_events=unfinished.own_events)
        journal.mark_unreported(unfinished.answered)
        begins_log = not any(event["type"] == "STEP_STARTED" for event in unfinished.logged)
        lacking = (*unfinished.request.lacking, *owner.lacking)
        request = replace(unfinished.request, lacking=lacking)
        inputs = self._inputs(run, request, rows, chosen.model)
        inputs = await self._equipped(run, request, inputs, had_skills=unfinished.had_skills)
        inputs = replace(
            inputs,
            limits=await self.limits.now(),
            journal=journal,
            sight=await self._seeing(run, request, chosen.model),
            reopens=run.key != run.task_id and begins_log,
        )
        return Course(
            run,
            start_strategy(run.agent_type, inputs),
            stored=len(unfinished.past),
            logged=unfinished.logged,
            before=unfinished.before,
        )

    def _inputs(
        self,
        run: StartedRun,
        request: RunRequest,
        rows: Sequence[KnowledgeBase],
        model: ChatModel,
    ) -> StrategyInput:
        recorder = RetrievalRecorder(self._database, run.owner_id, run.key)
        return StrategyInput(
            question=request.question,
            model=model,
            retriever=KnowledgeBaseRetriever(self._searcher, rows, recorder) if rows else None,
            documents=KnowledgeBaseReader(self._database, rows, run.owner_id) if rows else None,
            history=run.history,
            state=request.state,
            context=request.context,
            tools=request.tools,
            limits=self.limits.standing,
            time=UserClock(request.options.client_time, request.profile_timezone),
            calendar=RunCalendar(self._database, run.owner_id, run.task_id),
        )

    async def _equipped(
        self,
        run: StartedRun,
        request: RunRequest,
        inputs: StrategyInput,
        given: Given | None = None,
        *,
        had_skills: bool = False,
    ) -> StrategyInput:
        """The same with what is its owner's: tools of MCP servers, skills, memories, reflections."""
        known, choices = (given.connections, given.memory) if given else (None, None)
        reached = await self.reaching.reach(run.owner_id, request, known)
        inputs = replace(inputs, remote_tools=reached.tools, rules=reached.rules)
        if (skills := self._belongings.skills) is not None:
            shelf = await skills.build(
                RunTask(run.task_id, run.owner_id),
                request,
                given.skills if given else None,
                had_skills=had_skills,
                context_window=inputs.model.context_window,
            )
            inputs = replace(inputs, skills=shelf)
        inputs = await self._remembering(run, request, inputs, choices)
        return await self._reflecting(run, inputs)

    async def _remembering(
        self,
        run: StartedRun,
        request: RunRequest,
        inputs: StrategyInput,
        choices: MemoryChoices | None,
    ) -> StrategyInput:
        """The same with what its owner lets the run know and remember."""
        memories = self._belongings.memories
        if memories is None:
            return inputs
        said = [message.content for message in inputs.history if message.role == "user"]
        remembered = await memories.for_run(
            run.owner_id,
            run.run_id,
            [*said, inputs.question],
            is_offline=inputs.model.is_extractive,
            choices=choices,
        )
        told = () if Permission.MEMORY_VIEW in request.lacking else remembered.context
        return replace(inputs, memory=remembered.tools, context=(*inputs.context, *told))

    async def _reflecting(self, run: StartedRun, inputs: StrategyInput) -> StrategyInput:
        """The same with what earlier runs of the thread reflected, where the type reflects."""
        if run.agent_type not in REFLECTING:
            return inputs
        async with self._database.reading() as session:
            earlier = await reflections.read_earlier(session, run, REFLECTING)
        return replace(inputs, reflections=earlier)

    async def _seeing(self, run: StartedRun, request: RunRequest, model: ChatModel) -> VisionInput:
        """The pictures of the question, as far as the model is shown them."""
        attached = [image.id for image in request.messages[-1].images] if request.messages else []
        attachments = self._belongings.attachments
        if not attached:
            return VisionInput()
        if attachments is None or not model.sees_images:
            return VisionInput(len(attached), is_blind=True)
        pictures = await attachments.images_for_model(run.owner_id, attached)
        images = tuple(ModelImage(one.mime_type, one.content) for one in pictures)
        return VisionInput(len(attached), images)
