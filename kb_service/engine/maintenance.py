"""Maintenance of large shards: optimisation and reclaiming of deleted points while queries go on.

Qdrant Edge optimises only on request and freezes its process meanwhile; loading a large shard freezes it too. So one
process optimises a copy of the shard and another serves it, after it has repeated the writes since the copy was made;
then the index moves there.
"""

import asyncio
import shutil
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from core.errors.base import AgentexError
from core.errors.server import VectorIndexUnavailable
from core.logging import get_logger
from kb_service.engine.handlers import parse
from kb_service.engine.shadow_rebuild import BuildProcess, HostProcess, start_build, start_host
from kb_service.engine.shard_host import ShardBackend, ShardHost
from kb_service.engine.write_log import WriteLog
from kb_service.engine_client.protocol import EngineRequest, IndexHealth, WireMessage
from kb_service.vector_index.edge_shard import presync
from kb_service.vector_index.engine_index import DocumentsReply

_log = get_logger(__name__)

_LOOK_SECONDS = 2.0
_RETRY_SECONDS = 600.0
# Points outside the graph, searched linearly, before a rebuild is worth it.
_FRESH_POINTS = 20_000
_FRESH_SHARE = 0.1
# As in Qdrant's own optimiser; for fewer points the freed room is not worth a process.
_DELETED_SHARE = 0.2
_DELETED_POINTS = 5_000
# The copy, and the segments written beside it before the old ones are deleted.
_ROOM = 3
# The write log is replayed while writers go on; the rest while they wait.
_LEFT_FOR_STANDSTILL = 16
_MOST_CHASES = 20


@dataclass(frozen=True)
class MaintenancePolicy:
    """When a shard is optimised: from ``points`` points on; 0 means never."""

    points: int

    def is_due(self, health: IndexHealth) -> bool:
        if not self.points:
            return False
        scale = min(1.0, self.points / 50_000)
        enough = max(_FRESH_POINTS * scale, _FRESH_SHARE * health.points)
        fresh = health.written if health.optimised else health.points
        if health.points >= self.points and fresh >= enough:
            return True
        wasted = max(_DELETED_POINTS * scale, _DELETED_SHARE * (health.points + health.deleted))
        return health.deleted >= wasted


class IndexMaintenance:
    """Maintains the indexes of one engine, one at a time; its children's sockets lie beside ``socket``."""

    def __init__(self, indexes: Mapping[str, ShardHost], policy: MaintenancePolicy, socket: Path) -> None:
        self._indexes = indexes
        self._policy = policy
        self._socket = socket
        self._hosts: dict[str, HostProcess] = {}
        self._not_before: dict[str, float] = {}
        self._started = 0

    async def run(self) -> None:
        """Check until cancelled; VectorIndexUnavailable when a serving process has ended, so that the engine must
        restart.
        """
        while True:
            for index in self._indexes.values():
                await self._look_after(index)
            await self._sleep()

    async def close(self) -> None:
        for host in self._hosts.values():
            await host.stop()

    async def _sleep(self) -> None:
        ends = [asyncio.create_task(host.ended()) for host in self._hosts.values()]
        pause = asyncio.create_task(asyncio.sleep(_LOOK_SECONDS))
        try:
            await asyncio.wait([pause, *ends], return_when=asyncio.FIRST_COMPLETED)
            if any(end.done() for end in ends):
                raise VectorIndexUnavailable(reason="the process of an index has ended")
        finally:
            for task in (pause, *ends):
                task.cancel()

    async def _look_after(self, index: ShardHost) -> None:
        host = self._hosts.get(index.model)
        try:
            if host is not None:
                (served,) = (await host.health()).indexes
                index.report(served.points, served.written, served.deleted)
            await asyncio.to_thread(index.save_record)
            waits = time.monotonic() < self._not_before.get(index.model, 0.0)
            if not waits and self._policy.is_due(index.health()):
                await self._renew(index)
        except (AgentexError, OSError) as error:
            # A full disk or a lost folder: retried later, and shown in the health.
            _log.warning("index.upkeep_failed", model=index.model, error=type(error).__name__)
            index.problem = _reason(error)
            self._not_before[index.model] = time.monotonic() + _RETRY_SECONDS
            await asyncio.to_thread(index.directory.sweep)

    async def _renew(self, index: ShardHost) -> None:
        directory = index.directory
        await asyncio.to_thread(_require_room, directory.folder)
        target = await asyncio.to_thread(directory.next_folder)
        began = time.monotonic()
        async with AsyncExitStack() as undo:
            undo.callback(setattr, index, "upkeep", "none")
            undo.callback(index.stop_write_log)
            index.upkeep = "copying"
            builder = await self._copied(index, target)
            undo.push_async_callback(builder.stop)
            index.upkeep = "optimising"
            await builder.built()
            host = await self._start_host(index, target)
            undo.push_async_callback(host.stop)
            await host.ready()
            index.upkeep = "replaying"
            former = await self._move(index, target, host)
            undo.pop_all()
        self._hosts[index.model] = host
        index.upkeep, index.problem = "none", None
        _log.info("index.optimised", model=index.model, seconds=round(time.monotonic() - began, 1))
        await former.retire()

    async def _copied(self, index: ShardHost, target: Path) -> BuildProcess:
        async with index.writes_paused() as place:
            # Otherwise the engine would flush during the copy and change the files.
            await asyncio.to_thread(presync, index.directory.folder)
            await place.use(parse(_request("flush", index.model)))
            builder = await start_build(index.directory.folder, target, index.directory.record.dimension)
            try:
                await builder.copied()
                path = target.with_name(f"{target.name}.journal")
                path.unlink(missing_ok=True)
                index.start_write_log(WriteLog(path))
            except BaseException:
                await builder.stop()
                raise
        return builder

    async def _start_host(self, index: ShardHost, folder: Path) -> HostProcess:
        self._started += 1
        socket = self._socket.with_name(f"index-{self._started}.sock")
        return await start_host(index.model, index.directory.record.dimension, folder, socket)

    async def _move(self, index: ShardHost, target: Path, host: HostProcess) -> ShardBackend:
        place = ShardBackend(host.carry_out, host.discard)
        for _ in range(_MOST_CHASES):
            if index.write_log.waiting <= _LEFT_FOR_STANDSTILL:
                break
            await _repeat(index.write_log, place)
        async with index.writes_paused() as former:
            index.upkeep = "swapping"
            await _repeat(index.write_log, place)
            await _require_equal(index.model, former, place)
            record = index.directory.record.model_copy(
                update={"folder": target.name, "written": 0, "deleted": 0, "optimised_at": datetime.now(UTC)}
            )
            index.stop_write_log()
            return await index.move(place, record)


async def _repeat(write_log: WriteLog, place: ShardBackend) -> None:
    if write_log.is_invalid:
        raise VectorIndexUnavailable(reason="a write ended halfway while the index was optimised")
    for request in write_log.drain():
        await place.use(parse(request))


async def _require_equal(model: str, former: ShardBackend, current: ShardBackend) -> None:
    listed = [await backend.use(parse(_request("documents", model))) for backend in (former, current)]
    if _rows(listed[0]) != _rows(listed[1]):
        raise VectorIndexUnavailable(reason="the optimised copy has not the same points")


def _rows(answer: WireMessage) -> set[tuple[str, int, int]]:
    reply = DocumentsReply.model_validate(answer.model_dump())
    return set(zip(reply.document_ids, reply.revisions, reply.counts, strict=True))


def _request(op: str, model: str) -> EngineRequest:
    return EngineRequest(id=0, op=op, body={"model": model})


def _require_room(folder: Path) -> None:
    used = sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())
    if shutil.disk_usage(folder).free < _ROOM * used:
        raise VectorIndexUnavailable(reason="no room on the disk to optimise the index")


def _reason(error: Exception) -> str:
    if isinstance(error, AgentexError):
        return str(error.details.get("reason", error))
    return type(error).__name__
