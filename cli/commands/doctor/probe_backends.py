"""Probe of database, Redis, vector store and issuer: a child process that prints JSON.

A separate process, because the terminal client does not import server code. It works while the
server is down, changes nothing, and prints no secret: neither URLs nor messages of libraries.
"""

import asyncio
import json
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

from core.settings import Settings, get_settings

_SECONDS = 10.0
_MICROSECONDS = 1_000_000
_ISSUER_FAULTS = frozenset({"issuer", "keys"})
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@dataclass(frozen=True, slots=True)
class _BackendProbe:
    """Result of a probe.

    Attributes:
        state: ``ok``, ``new`` (created at first start), ``down`` (the private one does not run),
            ``unreachable``; of a database ``behind`` or ``ahead`` of this version, or ``damaged``;
            of a vector store that refuses the request, ``refused``; of an OpenID Connect
            issuer ``off``, ``issuer`` (it is another one) or ``keys`` (can't be fetched).
        skew: seconds by which the part's clock is ahead of this machine's.
        workers: number with a recent heartbeat.
    """

    state: str
    level: str = ""
    newest: str = ""
    skew: float = 0.0
    workers: int = 0
    waiting: int = 0


async def _database(settings: Settings) -> _BackendProbe:
    if settings.database_url is None and not (settings.data_dir / "agentex.db").exists():
        return _BackendProbe("new")
    # A second of imports, saved if there is nothing to probe.
    from sqlalchemy import make_url  # noqa: PLC0415

    url = make_url(settings.effective_database_url)
    if url.get_backend_name() != "sqlite":
        return await _database_server(settings)
    return await asyncio.to_thread(_database_file, Path(url.database or ""))


def _database_file(file: Path) -> _BackendProbe:
    from migrations.level import file_schema_revision, revisions  # noqa: PLC0415

    if not file.is_file():
        return _BackendProbe("new")
    try:
        return _judged(file_schema_revision(file), revisions())
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode not in _DAMAGED:
            raise
        return _BackendProbe("damaged")


async def _database_server(settings: Settings) -> _BackendProbe:
    from sqlalchemy import text  # noqa: PLC0415

    from core.db.database import open_database  # noqa: PLC0415
    from migrations.level import revisions, schema_revision  # noqa: PLC0415

    database = open_database(settings)
    try:
        there = await schema_revision(database)
        async with database.reading() as session:
            ask = text("SELECT extract(epoch FROM clock_timestamp())")
            database_time = (await (await session.connection()).execute(ask)).scalar_one()
            skew = float(database_time) - time.time()
    finally:
        await database.close()
    return _judged(there, revisions(), skew)


def _judged(there: str | None, revisions: list[str], skew: float = 0.0) -> _BackendProbe:
    newest = revisions[-1]
    if there is None:
        return _BackendProbe("new", newest=newest)
    state = "ok" if there == newest else "behind" if there in revisions else "ahead"
    return _BackendProbe(state, there, newest, skew)


async def _redis(settings: Settings) -> _BackendProbe:
    if settings.redis_url is None and not (settings.runtime_dir / "redis.sock").exists():
        return _BackendProbe("down")
    from core.redis.client import open_redis  # noqa: PLC0415
    from core.redis.heartbeats import count_workers  # noqa: PLC0415
    from core.redis.jobs import queue_depth  # noqa: PLC0415

    redis = open_redis(settings)
    try:
        seconds, rest = await redis.time()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportGeneralTypeIssues] # redis has partial types
        skew = float(seconds) + float(rest) / _MICROSECONDS - time.time()
        workers, waiting = await count_workers(redis), await queue_depth(redis)
    finally:
        await redis.aclose()
    return _BackendProbe("ok", skew=skew, workers=workers, waiting=waiting)


async def _issuer(settings: Settings) -> _BackendProbe:
    if settings.oidc_issuer is None:
        return _BackendProbe("off")
    from core.errors.oidc import OidcUnavailable  # noqa: PLC0415
    from core.oidc.factory import open_provider  # noqa: PLC0415

    provider = open_provider(settings)
    if provider is None:
        return _BackendProbe("off")
    try:
        await provider.check()
    except OidcUnavailable as error:
        reason = str(error.details["reason"])
        return _BackendProbe(reason if reason in _ISSUER_FAULTS else "unreachable")
    finally:
        await provider.close()
    return _BackendProbe("ok")


async def _vectors(settings: Settings) -> _BackendProbe:
    if settings.qdrant_url is None:
        folder = settings.data_dir / "vectors"
        return _BackendProbe("ok" if folder.exists() else "new")
    key = settings.qdrant_api_key
    headers = {"api-key": key.get_secret_value()} if key else {}
    async with httpx.AsyncClient(timeout=_SECONDS / 2, headers=headers) as http:
        answer = await http.get(f"{settings.qdrant_url.rstrip('/')}/collections")
    return _BackendProbe("ok" if answer.is_success else "refused")


_PARTS: dict[str, Callable[[Settings], Awaitable[_BackendProbe]]] = {
    "database": _database,
    "redis": _redis,
    "vectors": _vectors,
    "issuer": _issuer,
}


async def _look(settings: Settings) -> dict[str, _BackendProbe]:
    async def probe(look: Callable[[Settings], Awaitable[_BackendProbe]]) -> _BackendProbe:
        try:
            async with asyncio.timeout(_SECONDS):
                return await look(settings)
        except Exception:  # noqa: BLE001 - whatever a driver says may hold the address with its password
            return _BackendProbe("unreachable")

    results = await asyncio.gather(*(probe(look) for look in _PARTS.values()))
    return dict(zip(_PARTS, results, strict=True))


def main() -> None:
    """Print the results as JSON, by part."""
    # Standard output is for the result, not for logs.
    with redirect_stdout(sys.stderr):
        results = asyncio.run(_look(get_settings()))
    json.dump({name: asdict(part) for name, part in results.items()}, sys.stdout)


if __name__ == "__main__":
    main()
