"""Builder of a run's context and strategy, with the knowledge that it may read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import orjson
from pydantic import JsonValue
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.attachments.documents import AttachedDocument
from agents.attachments.service import AttachmentService
from agents.calendar.run_calendar import RunCalendar
from agents.client_time import UserClock
from agents.evidence import DocumentSpan, Passage, RetrievedPassages
from agents.journal import Journal
from agents.llm.base import ChatModel, ModelImage, ModelMessage
from agents.llm_registry.selection import ModelSelector
from agents.mcp import connections as mcp_connections
from agents.mcp.agent_texts import RemoteTexts, texts_for_run
from agents.mcp.agent_tools import RemoteTool, add_tool_policies, may_use_connections, tools_for_run
from agents.mcp.connections import ConnectionWithTools
from agents.mcp.service import McpService
from agents.memory.service import MemoryService
from agents.memory_port import LongTermMemory
from agents.models import AgentRun, LoggedEvent
from agents.run_context import AttachedPassages, RunContext, RunLimits, ToolRules, VisionInput, narrow_limits
from agents.run_request import ContextItem, RunRequest, UserMessage
from agents.runs import recovery
from agents.runs.driver import PreparedRun
from agents.runs.media import MediaIntake
from agents.runs.planner import LimitsProvider, RunPlan, RunResources
from agents.runs.recovery import RecoverableRun
from agents.runs.resume import NoOp
from agents.runs.store import StartedRun
from agents.skills.active import RunTask
from agents.skills.run_skills import RunSkills
from agents.skills.selection import RunSkillsFactory
from agents.strategies import REFLECTING, start_noop, start_strategy
from agents.tools import withheld_tools
from core.auth.authentication import principal_for_user
from core.auth.permissions import Permission
from core.auth.users import MemoryChoices
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.auth import KnowledgeBaseNotFound
from core.json_access import as_list, as_object, as_text
from core.settings.tool_policies import ToolPolicy
from core.text.sanitize import strip_hidden
from kb_service.documents import chunks
from kb_service.documents.chunks import ReadScope
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import Chunk, KnowledgeBase
from kb_service.retrieval import retrieval_log
from kb_service.retrieval.results import ContextPart, FoundChunk, FoundPassage, SearchResult, UnsearchedWarning
from kb_service.retrieval.service import Searcher
from kb_service.visibility import UserViewer


@dataclass(frozen=True)
class RetrievalRecorder:
    """Stores the retrievals of one run."""

    database: Database
    user_id: str
    run_key: str

    async def record(self, result: SearchResult) -> str:
        """Store a retrieval and return the id for inspecting and replaying it."""
        async with unit_of_work(self.database) as work:
            record = await retrieval_log.save(work, self.user_id, result, run_id=self.run_key)
        return record.id


class KnowledgeBaseRetriever:
    """Searches the knowledge bases of one run, already checked for the caller."""

    def __init__(
        self, searcher: Searcher, knowledge_bases: Sequence[KnowledgeBase], recorder: RetrievalRecorder
    ) -> None:
        self._searcher = searcher
        self._knowledge_bases = knowledge_bases
        self._recorder = recorder

    async def retrieve(self, query: str, *, top_k: int) -> RetrievedPassages:
        recorder, rows = self._recorder, self._knowledge_bases
        rows = await recheck_access(recorder.database, recorder.user_id, rows)
        request = self._searcher.resolve(rows, query, top_k=top_k)
        result = await self._searcher.search(UserViewer(recorder.user_id), rows, request)
        id_ = await self._recorder.record(result)
        passages = tuple(_passage(passage, id_) for passage in result.passages)
        missed = tuple(warning.message for warning in result.warnings if isinstance(warning, UnsearchedWarning))
        return RetrievedPassages(passages, id_, missed)


def _passage(passage: FoundPassage, retrieval_id: str) -> Passage:
    return replace(
        to_passage(passage.chunk, passage.document_name, score=passage.hit.score),
        before=_joined(passage.before),
        after=_joined(passage.after),
        retrieval_id=retrieval_id,
    )


def _joined(parts: Sequence[ContextPart]) -> str:
    return "\n".join(strip_hidden(part.content).strip() for part in parts)


def to_passage(chunk: Chunk | FoundChunk, document_name: str, *, score: float = 0.0) -> Passage:
    """The chunk as a passage, without hidden characters; ``score`` is 0 if nothing was searched."""
    return Passage(
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        document_name=document_name,
        knowledge_base_id=chunk.knowledge_base_id,
        revision=chunk.revision,
        content=strip_hidden(chunk.content),
        heading_path=tuple(map(strip_hidden, chunk.heading_path)),
        page=chunk.page,
        later_pages=tuple((offset, page) for offset, page in chunk.later_pages or ()),
        char_start=chunk.char_start,
        char_end=chunk.char_end,
        score=score,
    )


class KnowledgeBaseReader:
    """Reads documents of the knowledge bases of one run, already checked for the caller."""

    def __init__(self, database: Database, knowledge_bases: Sequence[KnowledgeBase], user_id: str) -> None:
        self._database = database
        self._knowledge_bases = knowledge_bases
        self._user_id = user_id

    async def read(self, document: str, *, start: int, end: int) -> DocumentSpan:
        """A part of a document, by its id or its name."""
        rows = await recheck_access(self._database, self._user_id, self._knowledge_bases)
        scope = ReadScope([row.id for row in rows], UserViewer(self._user_id))
        async with self._database.reading() as session:
            span = await chunks.read_span(session, scope, document, start=start, end=end)
        passages = tuple(to_passage(chunk, span.document.name) for chunk in span.chunks)
        return DocumentSpan(span.document.name, passages, span.length, tuple(span.namesakes))


async def recheck_access(database: Database, owner_id: str, rows: Sequence[KnowledgeBase]) -> Sequence[KnowledgeBase]:
    """Current rows of a run's knowledge bases that its owner may still search."""
    async with database.reading() as session:
        owner = await principal_for_user(session, owner_id)
        owner.require(Permission.KB_VIEW)
        present = await knowledge_bases.reload_visible(session, owner, [row.id for row in rows])
    if not present:
        raise KnowledgeBaseNotFound
    return present


MOST_REFLECTIONS = 10
LONGEST_REFLECTION = 500
_MOST_RUNS = 10
_PATH = "/reflections"


@dataclass(frozen=True)
class RunServices:
    """Optional services that runs use on behalf of their owners."""

    memories: MemoryService | None = None
    attachments: AttachmentService | None = None
    mcp: McpService | None = None
    skills: RunSkillsFactory | None = None
    media: MediaIntake | None = None


class BoundTools(NamedTuple):
    """What a run has of MCP servers, and the rules of all its tools."""

    tools: tuple[RemoteTool, ...]
    texts: RemoteTexts | None
    rules: ToolRules


class RunBuilder:
    """Builds runs that are ready to be driven."""

    def __init__(
        self,
        database: Database,
        searcher: Searcher,
        models: ModelSelector,
        limits: LimitsProvider,
        services: RunServices | None = None,
    ) -> None:
        self._database = database
        self._searcher = searcher
        self.services = services or RunServices()
        self.models = models
        self.limits = limits

    async def build(self, run: StartedRun, plan: RunPlan) -> PreparedRun:
        if plan.noop is not None:
            return self.build_noop(run, plan, plan.noop)
        if plan.resume is None:
            return await self.build_new(run, plan)
        async with self._database.reading() as session:
            recoverable = await recovery.load(session, run.key)
        return await self.build_resumed(recoverable)

    async def build_new(self, run: StartedRun, plan: RunPlan) -> PreparedRun:
        journal = Journal(run.task_id)
        context = await self._build_context(run, plan.request, plan.resources, journal)
        return PreparedRun(run, start_strategy(run.agent_type, context))

    def build_noop(self, run: StartedRun, plan: RunPlan, noop: NoOp) -> PreparedRun:
        model, limits = plan.resources.model.model, self.limits.standing
        context = RunContext(noop.question, model, state=plan.request.state, limits=limits)
        return PreparedRun(run, start_noop(context, noop.refused))

    async def build_resumed(self, recoverable: RecoverableRun) -> PreparedRun:
        """Build a run that continues where it stopped."""
        run = recoverable.run
        async with self._database.reading() as session:
            owner = await principal_for_user(session, run.owner_id)
            rows = await knowledge_bases.reload_visible(session, owner, recoverable.knowledge_base_ids)
            model = await self.models.reopen(session, run.owner_id, recoverable.model)
        journal = Journal(run.task_id, recoverable.past, own_events=recoverable.own_events)
        journal.mark_unreported(recoverable.answered)
        begins_log = not any(event["type"] == "STEP_STARTED" for event in recoverable.logged)
        context = await self._build_context(
            run,
            replace(recoverable.request, lacking=(*recoverable.request.lacking, *owner.lacking)),
            RunResources(model, await self.limits.now(), rows),
            journal,
            had_skills=recoverable.had_skills,
            reopens=run.key != run.task_id and begins_log,
        )
        follow_ups = [await self._follow_up(context, recoverable, answering) for answering in recoverable.follow_ups]
        return PreparedRun(
            run,
            start_strategy(run.agent_type, context, follow_ups),
            stored=len(recoverable.past),
            logged=recoverable.logged,
            before=recoverable.before,
        )

    async def _follow_up(self, task: RunContext, recoverable: RecoverableRun, answering: RunRequest) -> RunContext:
        """The context for what came beside answers: the task's, with what the client sent along."""
        *earlier, question = answering.follow_ups
        own_context = len(recoverable.request.context)
        context = (*answering.context, *task.caller_context[own_context:]) if answering.context else task.caller_context
        client_time = answering.options.client_time
        return replace(
            task,
            question=question.text,
            history=tuple(ModelMessage("user", message.text) for message in earlier),
            state={**task.state, **answering.state},
            caller_context=context,
            tools=answering.tools or task.tools,
            time=UserClock(client_time, answering.profile_timezone) if client_time else task.time,
            vision=await self._vision(recoverable.run, answering.follow_ups, task.model),
            attached=await self._attached(recoverable.run, answering, task.limits)
            if answering.document_ids
            else task.attached,
        )

    async def _build_context(
        self,
        run: StartedRun,
        request: RunRequest,
        resources: RunResources,
        journal: Journal,
        *,
        had_skills: bool = False,
        reopens: bool = False,
    ) -> RunContext:
        model, rows = resources.model.model, resources.knowledge_bases
        limits = narrow_limits(resources.limits, request.options.budget)
        bound = await self.bind_tools(run.owner_id, request, resources.connections)
        skills = await self._skills(run, request, resources, had_skills=had_skills)
        memory, memories = await self._memory(run, request, model, resources.memory)
        recorder = RetrievalRecorder(self._database, run.owner_id, run.key)
        return RunContext(
            question=request.question,
            model=model,
            retriever=KnowledgeBaseRetriever(self._searcher, rows, recorder) if rows else None,
            documents=KnowledgeBaseReader(self._database, rows, run.owner_id) if rows else None,
            memory=memory,
            history=run.history,
            state=request.state,
            caller_context=(*request.context, *memories),
            tools=request.tools,
            limits=limits,
            journal=journal,
            reopens=reopens,
            time=UserClock(request.options.client_time, request.profile_timezone),
            calendar=RunCalendar(self._database, run.owner_id, run.task_id),
            reflections=await self._reflections(run),
            vision=await self._vision(run, request.messages, model),
            attached=await self._attached(run, request, limits),
            rules=bound.rules,
            remote_tools=bound.tools,
            remote_texts=bound.texts,
            skills=skills,
        )

    async def bind_tools(
        self, owner_id: str, request: RunRequest, connections: Sequence[ConnectionWithTools] | None = None
    ) -> BoundTools:
        """The MCP tools of a run, the texts beside them, and its tool rules; connections are read if None, deleted ones left out."""
        mcp, policies = self.services.mcp, self.limits.standing.policies
        ids = request.options.mcp_connection_ids or ()
        if mcp is None or not ids:
            forbidden = policies.forbidden | withheld_tools(request.lacking)
            return BoundTools((), None, ToolRules(request.tool_policies, forbidden))
        if connections is None:
            async with self._database.reading() as session:
                rows = await mcp_connections.list_rows(session, owner_id)
                enabled = [row for row in rows if row.row.id in ids and row.row.enabled]
                connections = await mcp_connections.load_tools(session, mcp.tool_lists, enabled)
        server = add_tool_policies(policies, connections)
        tools = tools_for_run(mcp, self._database, connections)
        # Tools listed since then start with the server's policy.
        new: dict[str, ToolPolicy] = {tool.name: server.in_force(tool.name, None) for tool in tools}
        # Still offered, because a replay without them would differ.
        withheld = () if may_use_connections(request.lacking) else new
        forbidden = server.forbidden | withheld_tools(request.lacking) | frozenset(withheld)
        texts = texts_for_run(mcp, self._database, connections)
        return BoundTools(tools, texts, ToolRules({**new, **request.tool_policies}, forbidden))

    async def _skills(
        self, run: StartedRun, request: RunRequest, resources: RunResources, *, had_skills: bool
    ) -> RunSkills | None:
        if self.services.skills is None:
            return None
        return await self.services.skills.build(
            RunTask(run.task_id, run.owner_id),
            request,
            resources.skills,
            had_skills=had_skills,
            context_window=resources.model.model.context_window,
        )

    async def _memory(
        self, run: StartedRun, request: RunRequest, model: ChatModel, choices: MemoryChoices | None
    ) -> tuple[LongTermMemory | None, tuple[ContextItem, ...]]:
        """The memory tools and the memories that the run's owner allows."""
        if self.services.memories is None:
            return None, ()
        earlier = [message.content for message in run.history if message.role == "user"]
        memory = await self.services.memories.for_run(
            run.owner_id, run.run_id, [*earlier, request.question], is_offline=model.is_extractive, choices=choices
        )
        is_hidden = Permission.MEMORY_VIEW in request.lacking
        return memory.tools, () if is_hidden else tuple(memory.context)

    async def _reflections(self, run: StartedRun) -> tuple[str, ...]:
        if run.agent_type not in REFLECTING:
            return ()
        async with self._database.reading() as session:
            return await read_earlier(session, run, REFLECTING)

    async def _vision(self, run: StartedRun, messages: Sequence[UserMessage], model: ChatModel) -> VisionInput:
        image_ids = [image.id for image in messages[-1].images] if messages else []
        attachments = self.services.attachments
        if not image_ids:
            return VisionInput()
        if attachments is None or not model.sees_images:
            return VisionInput(len(image_ids), is_blind=True)
        stored_images = await attachments.images_for_model(run.owner_id, image_ids)
        images = tuple(ModelImage(image.mime_type, image.content) for image in stored_images)
        return VisionInput(len(image_ids), images)

    async def _attached(self, run: StartedRun, request: RunRequest, limits: RunLimits) -> AttachedPassages:
        ids, attachments = request.document_ids, self.services.attachments
        if not ids or attachments is None:
            return AttachedPassages(unread=len(ids))
        documents = await attachments.read_documents(run.owner_id, ids)
        most = limits.evidence_characters // len(ids)
        beginnings = [(attachment_id, document.shortened(most)) for attachment_id, document in documents]
        return AttachedPassages(
            tuple(passage for attachment_id, document in beginnings for passage in _attached(attachment_id, document)),
            tuple(document.name for _, document in beginnings if document.is_cut),
            len(ids) - len(documents),
        )


def _attached(attachment_id: str, document: AttachedDocument) -> Iterator[Passage]:
    for index, passage in enumerate(document.passages):
        yield Passage(
            chunk_id=f"{attachment_id}:{index}",
            document_id=attachment_id,
            document_name=document.name,
            knowledge_base_id="",
            revision=1,
            content=passage.text,
            heading_path=passage.heading_path,
            page=passage.page,
            later_pages=passage.later_pages,
            char_start=passage.char_start,
            char_end=passage.char_end,
            score=0.0,
        )


async def read_earlier(session: AsyncSession, run: StartedRun, agent_types: Sequence[str]) -> tuple[str, ...]:
    """The newest reflections of the thread's earlier tasks, oldest first, from their logs.

    They can't change while a run holds the thread, so a replay sees the same ones.
    """
    earlier = (
        select(AgentRun.id)
        .where(
            AgentRun.session_id == run.session_key,
            AgentRun.task_id != run.task_id,
            col(AgentRun.agent_type).in_(agent_types),
        )
        .order_by(col(AgentRun.created_at).desc(), col(AgentRun.id).desc())
        .limit(_MOST_RUNS)
    )
    query = (
        select(AgentRun.task_id, LoggedEvent.payload)
        .join(LoggedEvent, col(LoggedEvent.run_id) == col(AgentRun.id))
        .where(
            col(AgentRun.id).in_(earlier),
            LoggedEvent.type == "STATE_DELTA",
            # The index finds the runs' events; this avoids reading most of them.
            col(LoggedEvent.payload).contains(f'"{_PATH}"', autoescape=True),
        )
        .order_by(col(AgentRun.created_at), col(AgentRun.id), col(LoggedEvent.seq))
    )
    by_task: dict[str, list[str]] = {}
    for task_id, payload in (await session.exec(query)).all():
        event: JsonValue = orjson.loads(payload)
        for operation in map(as_object, as_list(as_object(event).get("delta"))):
            # Each change holds all reflections of a task so far.
            if operation.get("path") == _PATH:
                by_task[task_id] = [as_text(text) for text in as_list(operation.get("value"))]
    texts = [reflection for reflections in by_task.values() for reflection in reflections]
    return tuple(_shortened(reflection) for reflection in texts[-MOST_REFLECTIONS:])


def _shortened(text: str) -> str:
    is_short = len(text) <= LONGEST_REFLECTION
    return text if is_short else f"{text[: LONGEST_REFLECTION - 1]}…"
