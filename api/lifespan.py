"""Start, background tasks and shutdown of the API process."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from agents.accounts.deletion import purge
from agents.llm.factory import create_http_client
from agents.runs.service import RunService
from core.audit.queries import delete_older
from core.auth.authentication import Authenticator
from core.auth.signing_keys import PURPOSE, SigningKeys
from core.db.database import Database, open_database
from core.errors.base import AgentexError
from core.logging import get_logger
from core.runtime_config.live import LiveSettings
from core.runtime_config.outbound import OutboundPolicy
from core.security.vault import Vault, load_secret_key
from core.settings import Settings
from kb_service.retrieval.service import Searcher

if TYPE_CHECKING:
    pass
from api.container import AppContext, HttpClients, create_context

log = get_logger(__name__)

_REAP_SECONDS = 5
_SWEEP_SECONDS = 30
_KEYS_SECONDS = 5
_FORGET_SECONDS = 3600


@asynccontextmanager
async def open_context(settings: Settings) -> AsyncGenerator[AppContext]:
    """Open all connections, and close them at the end.

    ``SecretKeyMismatchError`` for another installation's database.
    """
    # Each closing call is reached whatever another one raises; the last opened is closed first.
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(create_http_client())
        database = open_database(settings)
        live = LiveSettings(database, settings)
        outbound = OutboundPolicy(live)
        # What is called at an administrator's choice: users register no models.
        guarded = await stack.enter_async_context(create_http_client(outbound.guards.administrators))
        public = await stack.enter_async_context(create_http_client(outbound.guards.everybody))
        keys = SigningKeys(Vault(load_secret_key(settings), PURPOSE))
        context = await create_context(database, live, HttpClients(http, guarded, public, outbound), keys)
        knowledge, agents = context.knowledge, context.agents
        for close in (
            context.database.close,
            context.redis.aclose,
            knowledge.engine.close,
            knowledge.spaces.close,
            knowledge.previews.close,
            agents.mcp.close,
            agents.media.close,
            agents.mcp_server.close,
        ):
            stack.push_async_callback(close)
        if context.security.oidc is not None:
            stack.push_async_callback(context.security.oidc.close)
        tasks = {
            asyncio.create_task(work)
            for work in (
                _recover_lost_runs(agents.runs),
                _warm_up(knowledge.searcher),
                _sweep("attachments", agents.attachments.sweep),
                _sweep("accounts", partial(purge, context.database)),
                agents.distiller.run(),
                context.rules.engine.run(),
                agents.skills.impressions.run(),
                context.streams.open_streams.watch(),
                _follow_signing_keys(context.database, keys, context.security.authenticator),
                _delete_old_audit_entries(context),
            )
        }
        stack.push_async_callback(_cancel, tasks)
        # What it executes may be a run, which is handed over before.
        stack.push_async_callback(context.rules.engine.close)
        stack.push_async_callback(agents.runs.drain, settings.drain_seconds / 2)
        yield context


async def _follow_signing_keys(database: Database, keys: SigningKeys, authenticator: Authenticator) -> None:
    while True:
        await asyncio.sleep(_KEYS_SECONDS)
        try:
            async with database.reading() as session:
                authenticator.issuer = await keys.issuer(session)
        except AgentexError as error:
            log.warning("signing_keys.not_read", code=error.code)
        except Exception:
            # Whatever it is, the next round must come; the known keys stay.
            log.exception("signing_keys.look_crashed")


async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def _recover_lost_runs(runs: RunService) -> None:
    while True:
        try:
            await runs.recover_lost()
        except AgentexError as error:
            log.warning("runs.not_swept", code=error.code)
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


async def _delete_old_audit_entries(context: AppContext) -> None:
    while True:
        try:
            days = (await context.live.now()).audit_retention_days
            await delete_older(context.database, days=days)
        except AgentexError as error:
            log.warning("audit.not_swept", code=error.code)
        except Exception:
            # Whatever it is, the next round must come.
            log.exception("audit.sweep_crashed")
        await asyncio.sleep(_FORGET_SECONDS)


async def _warm_up(searcher: Searcher) -> None:
    try:
        await searcher.warm_up()
    except AgentexError as error:
        log.info("search.not_warmed_up", code=error.code)
