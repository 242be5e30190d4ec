"""The two child processes behind a swap: one builds the optimised copy, the next serves it."""

import asyncio
import contextlib
import os
import shutil
import sys
from pathlib import Path

from core.errors.server import EngineUnavailable, VectorIndexUnavailable
from core.process import die_with_parent
from kb_service.engine.handlers import EngineTask
from kb_service.engine_client.client import EngineClient
from kb_service.engine_client.protocol import INGEST_SECONDS, QUERY_SECONDS, EngineHealth, RawBody, WireMessage
from kb_service.vector_index.edge_shard import Shard

_ASK_SECONDS = 0.1
_LOAD_SECONDS = 300.0


class BuildProcess:
    """The process that copies a shard and optimises the copy; see :func:`start_build`."""

    def __init__(self, process: asyncio.subprocess.Process, output: asyncio.StreamReader) -> None:
        self._process = process
        self._output = output

    async def copied(self) -> None:
        """Wait until the copy is made, so that the shard may change again."""
        if await self._output.readline() != COPIED:
            await self._process.wait()
            raise VectorIndexUnavailable(reason="the index could not be copied")

    async def built(self) -> None:
        """Wait until the copy is optimised and the process has ended; it writes its errors to standard error."""
        if await self._process.wait() != 0:
            raise VectorIndexUnavailable(reason="the copy of the index could not be optimised")

    async def stop(self) -> None:
        await _kill(self._process)


async def start_build(source: Path, target: Path, dimension: int) -> BuildProcess:
    """Start copying ``source``, which must not change until ``copied``, and optimising ``target``."""
    process = await asyncio.create_subprocess_exec(
        *_command("kb_service.engine.shadow_rebuild", str(source), str(target), str(dimension)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    if process.stdout is None:
        raise EngineUnavailable(reason="a child process has no output")
    return BuildProcess(process, process.stdout)


class HostProcess:
    """The process that serves one shard; see :func:`start_host`."""

    def __init__(self, process: asyncio.subprocess.Process, socket: Path, folder: Path) -> None:
        self._process = process
        self._client = EngineClient(socket)
        self._folder = folder

    async def ended(self) -> None:
        await self._process.wait()

    async def ready(self) -> None:
        """Wait until it serves; VectorIndexUnavailable if it ended or took too long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LOAD_SECONDS):
                while self._process.returncode is None:
                    with contextlib.suppress(EngineUnavailable):
                        if (await self._client.health()).state == "ready":
                            return
                    await asyncio.sleep(_ASK_SECONDS)
        raise VectorIndexUnavailable(reason="the optimised index could not be loaded")

    async def carry_out(self, task: EngineTask) -> WireMessage:
        body = RawBody.model_validate(task.request.body)
        seconds = QUERY_SECONDS if task.interactive else INGEST_SECONDS
        return await self._client.call(task.request.op, body, RawBody, timeout_seconds=seconds)

    async def health(self) -> EngineHealth:
        return await self._client.health()

    async def stop(self) -> None:
        """End the process; acknowledged writes stay in its log."""
        await self._client.close()
        await _kill(self._process)

    async def discard(self) -> None:
        await self.stop()
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)


async def start_host(model: str, dimension: int, folder: Path, socket: Path) -> HostProcess:
    """Start serving the shard in ``folder``; it loads in the background."""
    command = _command("kb_service.engine.shard_host_main", model, str(dimension), str(folder), str(socket))
    process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.DEVNULL)
    return HostProcess(process, socket, folder)


def _command(module: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", module, str(os.getpid()), *arguments)


async def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()


COPIED = b"copied\n"
# Half the priority of an interactive process, or less.
_NICENESS = 10


def main(parent: str, source: str, target: str, dimension: str) -> None:
    """Copy ``source`` to the new folder ``target``, report on standard output, optimise and close the copy."""
    die_with_parent(int(parent))
    os.nice(_NICENESS)
    shutil.copytree(source, target)
    sys.stdout.buffer.write(COPIED)
    sys.stdout.buffer.flush()
    shard = Shard(Path(target), int(dimension))
    shard.optimise()
    shard.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
