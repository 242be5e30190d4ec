"""Everything that a request may need, opened once per process."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

import httpx
from redis.asyncio import Redis

from agents.attachments.links import Links
from agents.attachments.service import AttachmentLimits, Attachments
from agents.memory.distiller import Distiller
from agents.memory.memories import Memories
from agents.models import configured_model, open_client
from agents.policies.chosen import server_policies
from agents.runs.launcher import Belongings, Launcher
from agents.runs.live.fan_out import FanOut
from agents.runs.live.followers import Followers
from agents.runs.service import RunService
from agents.strategies.base import Limits, limits_within
from api.progress_feed import ProgressFeeds
from core.accounts.authentication import Authenticator
from core.accounts.signing_keys import PURPOSE, load_token_issuer
from core.database.engine import Database, open_database
from core.errors import AgentexError
from core.jobs import JobQueue
from core.logging import get_logger
from core.redis import open_redis
from core.security.secrets import Vault, load_secret_key
from core.security.signed_urls import UrlSigner
from core.settings import Settings
from core.tool_policies import ServerPolicies
from ingestion.preview import SplitPreviewer
from kb_service.object_storage.open import open_object_store
from kb_service.object_storage.protocol import ObjectStore
from kb_service.retrieval.rerankers import open_rerankers
from kb_service.retrieval.search import Searcher
from kb_service.spaces import Spaces, open_spaces
from kb_service.wire import EngineClient

log = get_logger(__name__)

_REAP_SECONDS = 5
_SWEEP_SECONDS = 30


@dataclass(frozen=True)
class Services:
    """The open connections of the API process."""

    settings: Settings
    database: Database
    redis: Redis
    queue: JobQueue
    authenticator: Authenticator
    store: ObjectStore
    engine: EngineClient
    spaces: Spaces
    searcher: Searcher
    runs: RunService
    memories: Memories
    distiller: Distiller
    previews: SplitPreviewer
    feeds: ProgressFeeds
    attachments: Attachments
    tool_policies: ServerPolicies


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncGenerator[Services]:
    """Open all connections, and close them at the end.

    Raises:
        DatabaseUnavailable: without the database there is no API.
        SecretKeyMismatchError: the database belongs to another secret key.
    """
    # Each end is reached whatever goes wrong at another one; the last opened goes first.
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(open_client())
        services = await _open(settings, http)
        for close in (
            services.database.close,
            services.redis.aclose,
            services.engine.close,
            services.spaces.close,
            services.previews.close,
        ):
            stack.push_async_callback(close)
        beside = {
            asyncio.create_task(_take_up_lost_runs(services.runs)),
            asyncio.create_task(_warm_up(services.searcher)),
            asyncio.create_task(_sweep_attachments(services.attachments)),
            asyncio.create_task(services.distiller.run()),
        }
        stack.push_async_callback(_cancel, beside)
        stack.push_async_callback(services.runs.drain, settings.drain_seconds / 2)
        yield services


async def _open(settings: Settings, http: httpx.AsyncClient) -> Services:
    database, redis = open_database(settings), open_redis(settings)
    engine = EngineClient(settings.effective_engine_socket)
    spaces = open_spaces(settings, engine)
    searcher = Searcher(
        database,
        spaces,
        max_query_characters=settings.max_query_characters,
        rerankers=open_rerankers(settings, http),
    )
    model = configured_model(settings, http)
    store = open_object_store(settings)
    attachments = _attachments(settings, database, store)
    limits = _run_limits(settings)
    memories = Memories(database, spaces.default.encoder, most=settings.memories_per_user)
    return Services(
        settings=settings,
        database=database,
        redis=redis,
        queue=JobQueue(database, redis),
        authenticator=await _open_authenticator(settings, database),
        store=store,
        engine=engine,
        spaces=spaces,
        searcher=searcher,
        feeds=ProgressFeeds(database),
        runs=RunService(
            database,
            Launcher(database, searcher, model, limits, Belongings(memories, attachments)),
            # A Redis of this installation's own serves one API process: there is nobody to tell.
            Followers(database, FanOut(redis) if settings.redis_url else None),
            checks=settings.verify_streams,
        ),
        tool_policies=limits.policies,
        memories=memories,
        distiller=Distiller(database, memories, model),
        previews=SplitPreviewer(settings),
        attachments=attachments,
    )


def _run_limits(settings: Settings) -> Limits:
    limits = limits_within(
        settings.run_timeout_seconds,
        max_turns=settings.run_max_turns,
        max_tokens=settings.run_max_tokens,
    )
    return replace(limits, policies=server_policies(settings.tool_policies))


def _attachments(settings: Settings, database: Database, store: ObjectStore) -> Attachments:
    signer = UrlSigner(load_secret_key(settings), "attachment links")
    return Attachments(
        database,
        store,
        Links(signer, seconds=settings.attachment_link_seconds),
        limits=AttachmentLimits(settings.max_attachment_bytes, settings.user_quota_bytes),
    )


async def _open_authenticator(settings: Settings, database: Database) -> Authenticator:
    vault = Vault(load_secret_key(settings), PURPOSE)
    async with database.reading() as session:
        issuer = await load_token_issuer(session, vault)
    return Authenticator(
        issuer,
        access_seconds=settings.access_token_seconds,
        refresh_seconds=settings.refresh_token_seconds,
    )


async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def _take_up_lost_runs(runs: RunService) -> None:
    while True:
        try:
            await runs.take_up_lost()
        except AgentexError as error:
            log.warning("runs.not_swept", code=int(error.code))
        except Exception:
            # Whatever it is, the next round must come: nobody else takes up lost runs.
            log.exception("runs.sweep_crashed")
        await asyncio.sleep(_REAP_SECONDS)


async def _sweep_attachments(attachments: Attachments) -> None:
    while True:
        try:
            await attachments.sweep()
        except (AgentexError, OSError) as error:
            log.warning("attachments.not_swept", cause=type(error).__name__)
        except Exception:
            # Whatever it is, the next round must come.
            log.exception("attachments.sweep_crashed")
        await asyncio.sleep(_SWEEP_SECONDS)


async def _warm_up(searcher: Searcher) -> None:
    try:
        await searcher.warm_up()
    except AgentexError as error:
        log.info("search.not_warmed_up", code=int(error.code))
