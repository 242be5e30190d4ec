"""Everything that a request may need, opened once per process."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import httpx
from redis.asyncio import Redis

from agents.accounts.deletion import purge
from agents.attachments.service import AttachmentLimits, AttachmentService
from agents.attachments.signed_links import LinkSigner
from agents.llm.factory import configured_model, create_http_client
from agents.llm_registry.client_cache import PURPOSE as MODEL_KEYS
from agents.llm_registry.client_cache import ModelClientCache
from agents.llm_registry.selection import ModelSelector
from agents.llm_registry.service import ModelRegistry
from agents.mcp.limits import mcp_limits
from agents.mcp.service import PURPOSE as MCP_TOKENS
from agents.mcp.service import McpService
from agents.memory.distiller import Distiller
from agents.memory.service import MemoryService
from agents.runs.broadcaster import EventBroadcaster
from agents.runs.builder import RunBuilder, RunServices
from agents.runs.limits import LimitsProvider, limits_from_settings
from agents.runs.service import RunService
from agents.runs.subscribers import Subscribers
from agents.skills.factory import RunSkillsFactory
from agents.tool_policies.service import server_policies
from api.http.rate_limit import RequestLimits
from api.mcp_server.server import SkillServer
from api.stats import SystemStatsCache
from api.streaming.progress_feed import ProgressFeeds
from api.streaming.registry import OpenStreams
from core.audit.queries import delete_older
from core.auth.authentication import Authenticator
from core.auth.login_throttle import LoginThrottle
from core.auth.signing_keys import PURPOSE, SigningKeys
from core.db.database import Database, open_database
from core.errors.base import AgentexError
from core.logging import get_logger
from core.oidc.factory import open_provider
from core.outbound.guard import OutboundGuard
from core.redis.client import open_redis
from core.redis.jobs import JobQueue
from core.runtime_config.live import LiveSettings
from core.security.rate_limiter import LocalRateLimiter, SharedRateLimiter
from core.security.signed_urls import UrlSigner
from core.security.vault import Vault, load_secret_key
from core.settings import Settings
from core.settings.tool_policies import ServerPolicies
from ingestion.preview import SplitPreviewer
from kb_service.embedding_spaces import Spaces, open_spaces
from kb_service.engine_client.client import EngineClient
from kb_service.object_storage.factory import open_object_store
from kb_service.object_storage.protocol import ObjectStore
from kb_service.retrieval.rerankers import open_rerankers
from kb_service.retrieval.service import Searcher

if TYPE_CHECKING:
    from core.oidc.provider import OidcProvider

log = get_logger(__name__)

_REAP_SECONDS = 5
_SWEEP_SECONDS = 30
_KEYS_SECONDS = 5
_FORGET_SECONDS = 3600


@dataclass(frozen=True)
class Services:
    """The open connections of the API process; ``settings`` are those it was started with."""

    settings: Settings
    live: LiveSettings
    figures: SystemStatsCache
    database: Database
    redis: Redis
    queue: JobQueue
    authenticator: Authenticator
    limits: RequestLimits
    login_throttle: LoginThrottle
    open_streams: OpenStreams
    store: ObjectStore
    engine: EngineClient
    spaces: Spaces
    searcher: Searcher
    runs: RunService
    memories: MemoryService
    mcp: McpService
    distiller: Distiller
    skills: RunSkillsFactory
    skill_server: SkillServer
    previews: SplitPreviewer
    feeds: ProgressFeeds
    attachments: AttachmentService
    tool_policies: ServerPolicies
    models: ModelSelector
    model_registry: ModelRegistry
    oidc: "OidcProvider | None"


@dataclass(frozen=True)
class Clients:
    """The HTTP clients of a process.

    Args:
        own: for endpoints of the operator's settings.
        guarded: for those that others name.
        guard: judges where it may connect to.
    """

    own: httpx.AsyncClient
    guarded: httpx.AsyncClient
    guard: OutboundGuard


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncGenerator[Services]:
    """Open all connections, and close them at the end.

    Raises:
        DatabaseUnavailable: without the database there is no API.
        SecretKeyMismatchError: the database belongs to another secret key.
    """
    # Each end is reached whatever goes wrong at another one; the last opened goes first.
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(create_http_client())
        guard = OutboundGuard(settings.allowed_private_targets)
        guarded = await stack.enter_async_context(create_http_client(guard))
        keys = SigningKeys(Vault(load_secret_key(settings), PURPOSE))
        services = await _open(settings, Clients(http, guarded, guard), keys)
        for close in (
            services.database.close,
            services.redis.aclose,
            services.engine.close,
            services.spaces.close,
            services.previews.close,
            services.mcp.close,
            services.skill_server.close,
        ):
            stack.push_async_callback(close)
        if services.oidc is not None:
            stack.push_async_callback(services.oidc.close)
        beside = {
            asyncio.create_task(_take_up_lost_runs(services.runs)),
            asyncio.create_task(_warm_up(services.searcher)),
            asyncio.create_task(_sweep("attachments", services.attachments.sweep)),
            asyncio.create_task(_sweep("accounts", partial(purge, services.database))),
            asyncio.create_task(services.distiller.run()),
            asyncio.create_task(services.skills.offers.run()),
            asyncio.create_task(services.open_streams.watch()),
            asyncio.create_task(
                _follow_signing_keys(services.database, keys, services.authenticator)
            ),
            asyncio.create_task(_forget_old_audit(services)),
        }
        stack.push_async_callback(_cancel, beside)
        stack.push_async_callback(services.runs.drain, settings.drain_seconds / 2)
        yield services


async def _open(settings: Settings, clients: Clients, keys: SigningKeys) -> Services:
    database, redis = open_database(settings), open_redis(settings)
    # A Redis of this installation's own serves one API process: it can count by itself.
    limiter = SharedRateLimiter(redis) if settings.redis_url else LocalRateLimiter()
    live, engine = LiveSettings(database, settings), EngineClient(settings.effective_engine_socket)
    spaces = open_spaces(settings, engine)
    longest, rerankers = settings.max_query_characters, open_rerankers(settings, clients.own)
    searcher = Searcher(database, spaces, max_query_characters=longest, rerankers=rerankers)
    adapters = ModelClientCache(Vault(load_secret_key(settings), MODEL_KEYS), clients.guarded)
    models = ModelSelector(configured_model(settings, clients.own), adapters)
    store, mcp = open_object_store(settings), _mcp(settings, database)
    attachments, limits = _attachments(settings, database, store), _run_limits(settings, live)
    memories = MemoryService(database, spaces.default.encoder, most=settings.memories_per_user)
    skills = RunSkillsFactory(database, spaces.default.encoder)
    belongings = RunServices(memories, attachments, mcp, skills)
    return Services(
        settings=settings,
        live=live,
        figures=SystemStatsCache(settings, database, redis, spaces),
        database=database,
        redis=redis,
        queue=JobQueue(database, redis),
        authenticator=await _open_authenticator(settings, database, keys),
        limits=RequestLimits(limiter, settings),
        login_throttle=LoginThrottle(limiter, settings),
        open_streams=OpenStreams(database),
        store=store,
        engine=engine,
        spaces=spaces,
        searcher=searcher,
        feeds=ProgressFeeds(database),
        runs=RunService(
            database,
            RunBuilder(database, searcher, models, limits, belongings),
            # A Redis of this installation's own serves one API process: there is nobody to tell.
            Subscribers(database, EventBroadcaster(redis) if settings.redis_url else None),
            checks=settings.verify_streams,
        ),
        tool_policies=limits.standing.policies,
        memories=memories,
        mcp=mcp,
        distiller=Distiller(database, memories, models),
        skills=skills,
        skill_server=SkillServer(database, settings.max_request_bytes),
        previews=SplitPreviewer(settings),
        attachments=attachments,
        models=models,
        model_registry=ModelRegistry(database, adapters, clients.guard),
        oidc=open_provider(settings),
    )


def _run_limits(settings: Settings, live: LiveSettings) -> LimitsProvider:
    policies = server_policies(settings.tool_policies)
    return LimitsProvider(replace(limits_from_settings(settings), policies=policies), live)


def _mcp(settings: Settings, database: Database) -> McpService:
    vault = Vault(load_secret_key(settings), MCP_TOKENS)
    guard = OutboundGuard(settings.allowed_private_targets)
    return McpService(database, vault, guard, mcp_limits(settings.mcp_call_seconds))


def _attachments(settings: Settings, database: Database, store: ObjectStore) -> AttachmentService:
    signer = UrlSigner(load_secret_key(settings), "attachment links")
    return AttachmentService(
        database,
        store,
        LinkSigner(signer, seconds=settings.attachment_link_seconds),
        limits=AttachmentLimits(settings.max_attachment_bytes, settings.user_quota_bytes),
    )


async def _open_authenticator(
    settings: Settings, database: Database, keys: SigningKeys
) -> Authenticator:
    async with database.reading() as session:
        issuer = await keys.issuer(session)
    return Authenticator(
        issuer,
        access_seconds=settings.access_token_seconds,
        refresh_seconds=settings.refresh_token_seconds,
    )


async def _follow_signing_keys(
    database: Database, keys: SigningKeys, authenticator: Authenticator
) -> None:
    while True:
        await asyncio.sleep(_KEYS_SECONDS)
        try:
            async with database.reading() as session:
                authenticator.issuer = await keys.issuer(session)
        except AgentexError as error:
            log.warning("signing_keys.not_read", code=int(error.code))
        except Exception:
            # Whatever it is, the next round must come; the known keys stay.
            log.exception("signing_keys.look_crashed")


async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def _take_up_lost_runs(runs: RunService) -> None:
    while True:
        try:
            await runs.recover_lost()
        except AgentexError as error:
            log.warning("runs.not_swept", code=int(error.code))
        except Exception:
            # Whatever it is, the next round must come: nobody else takes up lost runs.
            log.exception("runs.sweep_crashed")
        await asyncio.sleep(_REAP_SECONDS)


async def _sweep(what: str, once: Callable[[], Awaitable[object]]) -> None:
    while True:
        try:
            await once()
        except (AgentexError, OSError) as error:
            log.warning("sweep.failed", what=what, cause=type(error).__name__)
        except Exception:
            # Whatever it is, the next round must come.
            log.exception("sweep.crashed", what=what)
        await asyncio.sleep(_SWEEP_SECONDS)


async def _forget_old_audit(services: Services) -> None:
    while True:
        try:
            days = (await services.live.now()).audit_retention_days
            await delete_older(services.database, days=days)
        except AgentexError as error:
            log.warning("audit.not_swept", code=int(error.code))
        except Exception:
            # Whatever it is, the next round must come.
            log.exception("audit.sweep_crashed")
        await asyncio.sleep(_FORGET_SECONDS)


async def _warm_up(searcher: Searcher) -> None:
    try:
        await searcher.warm_up()
    except AgentexError as error:
        log.info("search.not_warmed_up", code=int(error.code))
