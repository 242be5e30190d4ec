"""What a run that begins will be: read from its request, its thread and its owner's account."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.llm_registry.selection import DEFAULT_MODEL_ID, ModelRef, ModelSelector, SelectedModel
from agents.models import ChatSession
from agents.run_request import RunRequest
from agents.runs.resume import NoOp, Resume
from agents.skills import selection as skill_selection
from agents.skills.selection import SkillSelection
from agents.strategies import DEFAULT_AGENT_TYPE, require_known
from agents.tool_policies import service as tool_policies
from agents.tools import load_skill
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.auth.users import MemoryChoices, get_user
from core.errors.auth import ModelNotFound
from core.errors.requests import InvalidRunInput
from core.settings.tool_policies import ServerPolicies
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import KnowledgeBase


@dataclass(frozen=True)
class RunLease:
    """Who drives a run, and for how many seconds without another word."""

    driver: str
    seconds: float


@dataclass(frozen=True)
class SeenThread:
    """What was found where a request's thread is: ``ChatSession.id``, None for nothing yet."""

    key: str | None


@dataclass(frozen=True)
class RunOwner:
    """What a run takes from its owner's account, in one read."""

    time_zone: str | None
    memory: MemoryChoices


@dataclass(frozen=True)
class RunPlan:
    """What a run that begins will be.

    Args:
        agent_type: which strategy.
        lease: the driver's.
        model: that which answers.
        knowledge_base_ids: those it searches.
        continues: the task it goes on with, and the answers that it waited for.
        asks_nothing: leaves whatever the thread waits for as it is.
        waits_for: the run on which the thread waited when that was decided.
        most_sessions: that its owner may have, where it begins one; 0 for any number.
        seen: the thread as it was found just before; None to look for it, and for the run's id.
        opening: how many events its log begins with, where they are written with it.
    """

    agent_type: str
    lease: RunLease
    model: ModelRef
    knowledge_base_ids: tuple[str, ...] = ()
    continues: Resume | None = None
    asks_nothing: bool = False
    waits_for: str | None = None
    most_sessions: int = 0
    seen: SeenThread | None = None
    opening: int = 0

    @property
    def own_events(self) -> int:
        """Events of the strategy that come again before anything is new."""
        return self.continues.own_events if self.continues else 0


@dataclass(frozen=True)
class Asked:
    """What is asked, on which thread, and what that means for what the thread waits for."""

    request: RunRequest
    thread: ChatSession | None
    decided: Resume | NoOp | None

    @property
    def config(self) -> dict[str, JsonValue]:
        """The settings of the thread's session."""
        return {} if self.thread is None else self.thread.config


def agent_type_of(request: RunRequest, thread: ChatSession | None) -> str:
    """The strategy that the request names, else its session, else the usual one.

    Raises:
        UnknownAgentType: there is none of this name.
    """
    config = {} if thread is None else thread.config
    named = request.options.agent_type or config.get("agent_type")
    return require_known(named or DEFAULT_AGENT_TYPE)


async def skills_of(session: AsyncSession, principal: Principal, asked: Asked) -> SkillSelection:
    """The skills that the run may use, and those that the caller chose.

    Raises:
        InvalidRunInput: one of the ids names nothing, or they are too many or too long together.
        PermissionDenied: the request names some, and the caller may use none.
    """
    if asked.decided is not None:
        # A run of answers works by what its task began with.
        return SkillSelection()
    return await skill_selection.select_skills(
        session, principal, asked.request, asked.config.get("skill_ids")
    )


def loadable(request: RunRequest, asked: Asked) -> RunRequest:
    """The request with the chosen skills, as far as the run may call what loads them.

    A slug at the beginning of a message is then just text, as where it names no skill.

    Raises:
        InvalidRunInput: some are named, and ``load_skill`` is switched off.
    """
    if not request.skills or request.tool_policies.get(load_skill.NAME) != "never":
        return request
    for field, named in (
        ("forwardedProps.skill_ids", request.options.skill_ids),
        ("session.config.skill_ids", asked.config.get("skill_ids")),
    ):
        if named:
            error = f"the tool {load_skill.NAME} is switched off"
            raise InvalidRunInput(field=field, error=error)
    return replace(request, skills=())


async def knowledge_bases_of(
    session: AsyncSession, principal: Principal, asked: Asked
) -> Sequence[KnowledgeBase]:
    """Those of the request, else of the session, else all that the caller sees.

    Raises:
        KnowledgeBaseNotFound: one of them is not there for the caller.
        PermissionDenied: the request names some, and the caller may look at none.
    """
    if asked.decided is not None:
        # A run of answers searches what its task began with; that one of those is gone
        # must not keep anybody from answering.
        return ()
    wanted = asked.request.options.knowledge_base_ids
    if Permission.KB_VIEW not in principal.permissions:
        if wanted:
            principal.require(Permission.KB_VIEW)
        return ()
    configured = asked.config.get("knowledge_base_ids")
    if not wanted and isinstance(configured, list):
        wanted = tuple(str(value) for value in configured)
    return await knowledge_bases.get_searchable(session, principal, list(wanted or ()) or None)


async def model_of(
    session: AsyncSession, models: ModelSelector, principal: Principal, asked: Asked
) -> SelectedModel:
    """The model that the request names, else its session, else the caller's default.

    A run of answers has that of its task, whatever became of it.

    Raises:
        InvalidRunInput: there is none that the caller may use; the details name those there are.
    """
    if isinstance(asked.decided, Resume):
        return await models.reopen(session, principal.user_id, asked.decided.waiting.model)
    if asked.decided is not None:
        return await models.select(session, principal, None)
    field, named = "forwardedProps.model_id", asked.request.options.model_id
    if not named:
        field, named = "session.config.model_id", str(asked.config.get("model_id") or "")
    try:
        return await models.select(session, principal, named)
    except ModelNotFound:
        usable = await models.list_usable(session, principal)
        own = [one.model.name for one in usable.built_in]
        known = [DEFAULT_MODEL_ID, *own, *(row.id for row in usable.registered)]
        raise InvalidRunInput(field=field, error="unknown", known=known) from None


async def owner_of(session: AsyncSession, principal: Principal) -> RunOwner:
    """What the caller's account has set for its runs."""
    account = await get_user(session, principal.user_id)
    choices = MemoryChoices(account.use_memories, account.remember_after_runs)
    return RunOwner(account.time_zone, choices)


async def with_policies(
    session: AsyncSession, principal: Principal, request: RunRequest, server: ServerPolicies
) -> RunRequest:
    """The request with the policies in force for the tools of the server itself."""
    policies = await tool_policies.effective_policies(session, principal.user_id, server)
    return replace(request, tool_policies=policies)


def settle_plan(
    plan: RunPlan, request: RunRequest, decided: Resume | NoOp | None
) -> tuple[RunPlan, RunRequest]:
    """The plan and the request after what its thread waits for was looked at."""
    match decided:
        case Resume():
            agent_type = decided.waiting.run.agent_type
            return replace(plan, agent_type=agent_type, continues=decided), request
        case NoOp():
            # Nothing is asked by it: what its messages say was said before.
            return replace(plan, asks_nothing=True), replace(request, messages=())
        case None:
            return plan, request
