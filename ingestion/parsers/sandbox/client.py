"""The worker's side of the sandbox: parser children that can be killed, and a pool of them."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from core.errors.requests import UnsupportedFileType
from core.logging import get_logger
from core.settings import Settings
from core.types.document_parsers import BUILT_IN
from ingestion.parsers import MEDIA_TYPE_OF, PARSED_IN_CHILD
from ingestion.parsers.conversion.converter import OfficeConverter
from ingestion.parsers.conversion.formats import BY_MEDIA_TYPE
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.external import ExternalParsers, ProgressListener
from ingestion.parsers.image.ocr import OcrSettings, is_installed
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.sandbox.exit_codes import exit_failure
from ingestion.parsers.sandbox.memory import ChildMemoryWatch, ProcessMemory
from ingestion.parsers.sandbox.protocol import (
    HEADER,
    ParseRequest,
    max_reply_bytes,
    pack_request,
    unpack_isolation,
    unpack_reply,
)

_log = get_logger(__name__)

_MODULE = "ingestion.parsers.sandbox.main"
_START_SECONDS = 30
_PIPE_BYTES = 2**20
_SMALL_REPLY_BYTES = 64 * 1024
# Either cuts every library in the child off from the network (see ``limits``).
_NO_NETWORK = frozenset({"no_sockets", "no_network"})


async def ignore_progress(_: int) -> None:
    """Progress is not reported."""


class ParserChild:
    """One warm child process, started at the first parse and killed on a breach of a limit.

    Requests are served one after the other; ``ParserPool`` has several children.

    Args:
        recycle_after: Documents after which a fresh child is started.
        recycle_bytes: Resident memory at rest after which a fresh child is started.
    """

    def __init__(
        self, *, recycle_after: int = 1000, recycle_bytes: int = 128 * 2**20, recognition: OcrSettings | None = None
    ) -> None:
        self._recognition = recognition or OcrSettings()
        self._recycle_after = recycle_after
        self._recycle_bytes = recycle_bytes
        self._turn = asyncio.Lock()
        self._process: Process | None = None
        self._memory = ProcessMemory(None)
        self._reaping: set[asyncio.Task[None]] = set()
        self._served = 0
        self.isolation: tuple[str, ...] = ()
        """Names of the limits that hold in the child (see ``limits``); empty before the first start."""

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def parse(self, path: Path, media_type: str, *, limits: ParseLimits | None = None) -> ParsedDocument:
        """Parse one file in the child; cancellation kills the child at once, as does every breach of a limit."""
        (outcome,) = await self.parse_each([ParseRequest(path, media_type, limits or ParseLimits())])
        if isinstance(outcome, ParseFailure):
            raise outcome
        return outcome

    async def parse_each(
        self, requests: Sequence[ParseRequest], *, listener: ProgressListener = ignore_progress
    ) -> list[ParsedDocument | ParseFailure]:
        """Parse files one after the other, without a round trip for each.

        Files after one that ended the child are parsed in another child.

        Args:
            requests: not many, and all with the same bound on memory.

        Raises:
            ParseFailure: no child can be started.
            UnsupportedFileType: no parser is registered for a media type.
        """
        for request in requests:
            if request.media_type not in PARSED_IN_CHILD:
                raise UnsupportedFileType(media_type=request.media_type)
        outcomes: list[ParsedDocument | ParseFailure] = []
        async with self._turn:
            while remaining := requests[len(outcomes) :]:
                outcomes += await self._parse_in(await self._running(), remaining, listener)
        return outcomes

    async def _parse_in(
        self, process: Process, requests: Sequence[ParseRequest], listener: ProgressListener
    ) -> list[ParsedDocument | ParseFailure]:
        is_settled = False
        try:
            outcomes = await self._exchange(process, requests, listener)
            is_settled = not _ends_child(outcomes[-1])
        finally:
            if not is_settled:
                self._kill()
        self._served += len(outcomes)
        return outcomes

    async def close(self) -> None:
        self._kill()
        await asyncio.gather(*self._reaping)

    async def _running(self) -> Process:
        process = self._process
        if process is not None and process.returncode is None and not self._is_worn():
            return process
        self._kill()
        self._process = process = await _start(self._recognition)
        self._memory = ProcessMemory(process.pid)
        self._served = 0
        try:
            async with asyncio.timeout(_START_SECONDS):
                self.isolation = unpack_isolation(await _read(process, _PIPE_BYTES))
        except (asyncio.IncompleteReadError, TimeoutError) as error:
            self._kill()
            raise ParseFailure(FailureReason.PARSER_CRASHED, "start") from error
        except asyncio.CancelledError:
            self._kill()
            raise
        _warn_of_network(frozenset(self.isolation))
        return process

    def _is_worn(self) -> bool:
        return self._served >= self._recycle_after or self._memory.resident() >= self._recycle_bytes

    def _kill(self) -> None:
        """Kill the child's process group without waiting: the caller may be cancelled."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        reaping = asyncio.create_task(_reap(process))
        self._reaping.add(reaping)
        reaping.add_done_callback(self._reaping.discard)

    async def _exchange(
        self, process: Process, requests: Sequence[ParseRequest], listener: ProgressListener
    ) -> list[ParsedDocument | ParseFailure]:
        memory = ChildMemoryWatch(process, self._memory, requests[0].limits.memory_bytes)
        watch = asyncio.create_task(memory.run())
        outcomes: list[ParsedDocument | ParseFailure] = []
        unsent = b"".join(map(pack_request, requests))
        try:
            for request in requests:
                outcomes.append(await _ask(process, request, unsent, memory, listener))
                unsent = b""
                if _ends_child(outcomes[-1]):
                    break
            return outcomes
        finally:
            watch.cancel()


async def _ask(
    process: Process, request: ParseRequest, unsent: bytes, memory: ChildMemoryWatch, listener: ProgressListener
) -> ParsedDocument | ParseFailure:
    try:
        async with asyncio.timeout(_seconds(request)):
            if unsent:
                await _write(process, unsent)
            while isinstance(reply := await _reply(process, request), int):
                await listener(reply)
            return reply
    except TimeoutError:
        return ParseFailure(FailureReason.PARSE_TIMEOUT)
    except OverflowError:
        return ParseFailure(FailureReason.OUTPUT_TOO_LARGE)
    except (asyncio.IncompleteReadError, ConnectionError):
        return exit_failure(await process.wait(), memory.highest)


async def _reply(process: Process, request: ParseRequest) -> ParsedDocument | ParseFailure | int:
    reply = await _read(process, max_reply_bytes(request.limits))
    if len(reply) <= _SMALL_REPLY_BYTES:
        return unpack_reply(reply)
    # Megabytes of elements would block the event loop.
    return await asyncio.to_thread(unpack_reply, reply)


def _seconds(request: ParseRequest) -> float:
    """Time limit of a parse, text recognition included."""
    limits = request.limits
    may_recognise = PARSED_IN_CHILD[request.media_type].family.is_recognised and is_installed()
    return limits.seconds + (limits.recognition_seconds if may_recognise else 0)


def _ends_child(outcome: ParsedDocument | ParseFailure) -> bool:
    reasons = (
        FailureReason.PARSE_MEMORY,
        FailureReason.PARSE_TIMEOUT,
        FailureReason.PARSER_CRASHED,
        FailureReason.OUTPUT_TOO_LARGE,
    )
    return isinstance(outcome, ParseFailure) and outcome.reason in reasons


async def _reap(process: Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    while process.stdout is not None and await process.stdout.read(_PIPE_BYTES):
        pass
    await process.wait()


@cache
def _warn_of_network(isolation: frozenset[str]) -> None:
    """Warn once that this system isolates only sockets of Python code."""
    if not isolation & _NO_NETWORK:
        _log.warning("parser.network_not_cut_off", holds=sorted(isolation))


async def _start(recognition: OcrSettings) -> Process:
    """A new child in its own process group, without this process's environment."""
    environment = {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "LC_ALL": "C.UTF-8",
        # Tesseract's threads would share one core's worth of work and double its processor time.
        "OMP_THREAD_LIMIT": "1",
    }
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-B", "-m", _MODULE, recognition.languages, recognition.data_dir),
        stdin=PIPE,
        stdout=PIPE,
        env=environment,
        start_new_session=True,
        limit=_PIPE_BYTES,
    )


async def _write(process: Process, frame: bytes) -> None:
    if process.stdin is None:
        raise ConnectionError
    process.stdin.write(frame)
    await process.stdin.drain()


async def _read(process: Process, most: int) -> bytes:
    """The body of the next frame; OverflowError if it is longer than ``most``."""
    if process.stdout is None:
        raise ConnectionError
    (length,) = HEADER.unpack(await process.stdout.readexactly(HEADER.size))
    if length > most:
        raise OverflowError
    return await process.stdout.readexactly(length)


def parse_limits(settings: Settings) -> ParseLimits:
    """The configured bounds on one document."""
    return ParseLimits(
        seconds=settings.parse_timeout_seconds,
        memory_bytes=settings.parse_memory_bytes,
        output_characters=settings.parse_output_characters,
        recognition_seconds=settings.ocr_timeout_seconds,
    )


class ParserPool:
    """Children that parse in parallel: a slow document delays no other; each is started at its first document.

    Args:
        converter: turns documents that no parser reads into others; None where that is switched off.
        external: reads documents for which another parser was chosen.
    """

    def __init__(
        self,
        size: int,
        *,
        recognition: OcrSettings | None = None,
        converter: OfficeConverter | None = None,
        external: ExternalParsers | None = None,
    ) -> None:
        self._converter = converter
        self._external = external
        self._children = [ParserChild(recognition=recognition) for _ in range(size)]
        # Last in, first out: a worker with little to do keeps one child warm, not all.
        self._idle: asyncio.LifoQueue[ParserChild] = asyncio.LifoQueue()
        for child in self._children:
            self._idle.put_nowait(child)

    async def parse_each(
        self, requests: Sequence[ParseRequest], *, listener: ProgressListener = ignore_progress
    ) -> list[ParsedDocument | ParseFailure]:
        """Parse small files, or one of any size, in the next idle child; see ``ParserChild``.

        Files that are to be converted or that another parser reads are parsed each by itself: no child waits for them.

        Raises:
            AgentexError, OSError: what another parser needs is unavailable (``ExternalParser``).
        """
        if not any(_is_separate(request) for request in requests):
            return await self._parse(requests, listener)
        return [outcome for request in requests for outcome in await self._parse_alone(request, listener)]

    async def _parse_alone(
        self, request: ParseRequest, listener: ProgressListener
    ) -> list[ParsedDocument | ParseFailure]:
        if request.parser == BUILT_IN:
            return await self._convert_and_parse(request, listener)
        if self._external is None:
            return [ParseFailure(FailureReason.PARSER_NOT_ENABLED, request.parser)]
        return [await self._external.parse(request, listener)]

    async def _parse(
        self, requests: Sequence[ParseRequest], listener: ProgressListener
    ) -> list[ParsedDocument | ParseFailure]:
        child = await self._idle.get()
        try:
            return await child.parse_each(requests, listener=listener)
        finally:
            self._idle.put_nowait(child)

    async def _convert_and_parse(
        self, request: ParseRequest, listener: ProgressListener
    ) -> list[ParsedDocument | ParseFailure]:
        form = BY_MEDIA_TYPE.get(request.media_type)
        if form is None:
            return await self._parse([request], listener)
        if self._converter is None:
            return [ParseFailure(FailureReason.CONVERTER_MISSING)]
        try:
            async with self._converter.converted(request.path, form, request.limits) as path:
                return await self._parse([ParseRequest(path, MEDIA_TYPE_OF[form.target], request.limits)], listener)
        except ParseFailure as failure:
            return [failure]

    async def close(self) -> None:
        await asyncio.gather(*(child.close() for child in self._children))
        if self._external is not None:
            await self._external.close()


def _is_separate(request: ParseRequest) -> bool:
    return request.parser != BUILT_IN or request.media_type in BY_MEDIA_TYPE
