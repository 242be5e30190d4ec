"""Liveness and readiness of the process and its parts."""

from collections.abc import Awaitable, Callable
from typing import Literal

import anyio
from fastapi.responses import JSONResponse
from redis.exceptions import RedisError

from api.container import AppContext
from api.dependencies import CurrentContext
from api.http.responses import ResponseModel
from api.http.routing import Router
from core.errors.base import AgentexError
from core.logging import get_logger
from core.redis.heartbeats import count_workers

log = get_logger(__name__)
router = Router(tags=["health"])
_PATIENCE_SECONDS = 3


class _NotReady(Exception):
    """A part answers that it can't be used yet; the text is for operators."""


class Alive(ResponseModel):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Component(ResponseModel):
    """One part: ``detail`` says what is wrong, never with a secret."""

    status: Literal["ok", "error"]
    detail: str = ""


class Readiness(ResponseModel):
    """All parts."""

    status: Literal["ready", "not_ready"]
    components: dict[str, Component]


async def _database(context: AppContext) -> str:
    await context.database.ping()
    return "SQLite" if context.database.is_sqlite else "PostgreSQL"


async def _redis(context: AppContext) -> str:
    await context.redis.ping()  # pyright: ignore[reportUnknownMemberType, reportGeneralTypeIssues] # redis has partial types
    return ""


async def _worker(context: AppContext) -> str:
    count = await count_workers(context.redis)
    if count == 0:
        raise _NotReady("no worker gave a sign of life")
    return f"{count} alive"


async def _object_store(context: AppContext) -> str:
    await context.knowledge.store.ping()
    return ""


async def _engine(context: AppContext) -> str:
    health = await context.knowledge.engine.health()
    if health.state != "ready":
        raise _NotReady(f"the engine is {health.state}")
    problems = [encoder.problem for encoder in health.encoders if encoder.problem]
    return "; ".join([f"{health.model} on {health.backend} in {health.dtype}", *problems])


async def _vector_index(context: AppContext) -> str:
    points = await context.knowledge.spaces.count()
    return "; ".join([f"{points} points", *(await _remarks(context))])


async def _remarks(context: AppContext) -> list[str]:
    if context.settings.qdrant_url is not None:
        return []
    health = await context.knowledge.engine.health()
    backends = {encoder.model: encoder.backend for encoder in health.encoders}
    remarks: list[str] = []
    for index in health.indexes:
        if index.upkeep != "none":
            remarks.append(f"{index.model}: {index.upkeep}")
        if index.problem:
            remarks.append(f"{index.model}: {index.problem}")
        now = backends.get(index.model)
        if now and index.vectors_by not in {None, now}:
            remarks.append(f"{index.model}: vectors made by {index.vectors_by}, now {now}")
    return remarks


CHECKS: dict[str, Callable[[AppContext], Awaitable[str]]] = {
    "database": _database,
    "redis": _redis,
    "engine": _engine,
    "worker": _worker,
    "object_store": _object_store,
    "vector_index": _vector_index,
}


@router.get("/healthz")
async def alive() -> Alive:
    """The process answers."""
    return Alive()


@router.get("/readyz", responses={503: {"model": Readiness}})
async def ready(context: CurrentContext) -> JSONResponse:
    """Every part answers; 503 names those that don't."""
    components: dict[str, Component] = {}

    async def check(name: str, probe: Callable[[AppContext], Awaitable[str]]) -> None:
        try:
            with anyio.fail_after(_PATIENCE_SECONDS):
                components[name] = Component(status="ok", detail=await probe(context))
        except _NotReady as error:
            components[name] = Component(status="error", detail=str(error))
        except (AgentexError, RedisError, OSError, TimeoutError):
            components[name] = Component(status="error", detail="does not answer")
        except Exception:
            # A fault of ours, whose words are for the log; the other parts are told all the same.
            log.exception("health.check_crashed", part=name)
            components[name] = Component(status="error", detail="the check failed, see the log")

    async with anyio.create_task_group() as group:
        for name, probe in CHECKS.items():
            group.start_soon(check, name, probe)
    good = all(component.status == "ok" for component in components.values())
    body = Readiness(status="ready" if good else "not_ready", components={name: components[name] for name in CHECKS})
    return JSONResponse(body.model_dump(), status_code=200 if good else 503)
