"""The worker's side of unstructured: a process that has loaded it, and one fork of that per document."""

import asyncio
import json
import os
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any, cast

import ingestion
from core.settings import Settings
from core.types.document_parsers import AUTO_STRATEGY
from ingestion.parsers import IMAGE, PARSERS
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.external import ExternalParser, ProgressListener, file_ending
from ingestion.parsers.image.ocr import OcrSettings, installed_languages
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.sandbox.exit_codes import exit_failure
from ingestion.parsers.sandbox.folders import document_folder
from ingestion.parsers.sandbox.memory import ChildMemoryWatch, ProcessMemory
from ingestion.parsers.sandbox.protocol import ParseRequest, max_reply_bytes
from ingestion.parsers.unstructured import fork_server, installation
from ingestion.parsers.unstructured.result import document_of

_OFFICE = "application/vnd.openxmlformats-officedocument"
_READERS = {
    f"{_OFFICE}.wordprocessingml.document": "docx",
    f"{_OFFICE}.presentationml.presentation": "pptx",
    f"{_OFFICE}.spreadsheetml.sheet": "xlsx",
    "application/vnd.ms-excel": "xlsx",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/epub+zip": "epub",
    "application/rtf": "rtf",
    "application/pdf": "pdf",
    "application/xml": "xml",
    "message/rfc822": "email",
    "application/vnd.ms-outlook": "msg",
    "text/html": "html",
    "text/markdown": "md",
    "text/plain": "text",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
}
_READERS_OF_PAGES = frozenset({"pdf", "image"})
_READERS_OF_TEXTS = {"rst": "rst", "org": "org"}
_VARIABLES = {
    "PATH": installation.PROGRAM_FOLDERS,
    "LC_ALL": "C.UTF-8",
    "DO_NOT_TRACK": "true",
    "HF_HUB_OFFLINE": "1",
    # It would compile for 8 s in each fork, what then takes milliseconds a page, and write into the environment.
    "NUMBA_DISABLE_JIT": "1",
    "OMP_NUM_THREADS": "1",
    "OMP_THREAD_LIMIT": "1",
    "SCARF_NO_ANALYTICS": "true",
    "TRANSFORMERS_OFFLINE": "1",
    "UNSTRUCTURED_DISABLE_NOTICE": "1",
}
_PREFIX = "agentex-unstructured-"
_START_SECONDS = 120
_IDLE_SECONDS = 120
"""The loaded process takes 300 MB, and its start as many seconds as a document or more."""
# What the library takes before it has opened a document.
_MEMORY_AT_REST = 768 * 2**20


def reads(media_type: str, settings: Settings) -> bool:
    """Whether it reads a format here; pictures only where it can recognise text."""
    form = PARSERS.get(media_type)
    if form is not None and form.family is IMAGE:
        return not missing_parts(installation.OCR_ONLY, settings)
    return media_type in _READERS


def missing_parts(strategy: str, settings: Settings) -> tuple[str, ...]:
    """What a strategy needs and this server lacks, by the names under which it is installed."""
    return installation.missing_parts(installation.environment_of(settings), strategy, _recognition(settings))


def open_parser(settings: Settings) -> ExternalParser:
    """Its process is started at the first document."""
    return UnstructuredParser(installation.environment_of(settings), recognition=_recognition(settings))


def _recognition(settings: Settings) -> OcrSettings:
    return OcrSettings(settings.ocr_languages, str(settings.ocr_data_dir or ""))


class UnstructuredParser:
    """Reads documents one at a time, each in a process of its own that has no state of others.

    Args:
        environment: the folder of its virtual environment.
        recognition: languages of text recognition, and where their data is.
        idle_seconds: after which the loaded process ends.
    """

    def __init__(
        self, environment: Path, *, recognition: OcrSettings | None = None, idle_seconds: float = _IDLE_SECONDS
    ) -> None:
        self._environment = environment
        self._recognition = recognition or OcrSettings()
        self._idle_seconds = idle_seconds
        self._turn = asyncio.Lock()
        self._process: Process | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._reaping: set[asyncio.Task[None]] = set()

    @property
    def pid(self) -> int | None:
        """Of the loaded process."""
        return self._process.pid if self._process is not None else None

    async def parse(self, request: ParseRequest, listener: ProgressListener) -> ParsedDocument:
        """Read one file; the time in which others are read or the library is loaded does not count.

        The library says nothing of its progress.

        Raises:
            ParseFailure: as our own parsers, or ``parser_missing``, before anything is started.
        """
        request = replace(request, strategy=self._strategy_for(request))
        async with document_folder(_PREFIX) as folder, self._turn:
            self._stop_timer()
            try:
                failure = await self._read(request, folder)
            finally:
                self._start_timer()
            if failure is not None:
                raise failure
            return await asyncio.to_thread(document_of, folder / fork_server.RESULT, request)

    def _strategy_for(self, request: ParseRequest) -> str:
        """The strategy that the library is asked for; ParseFailure ``parser_missing`` where this server can't do it."""
        reader, strategy = _reader(request), request.strategy
        if reader not in _READERS_OF_PAGES:
            return strategy
        if strategy == AUTO_STRATEGY or (reader == "image" and strategy == installation.FAST):
            strategy = self._default_for(reader, strategy)
        if missing := self._missing(strategy):
            raise ParseFailure(FailureReason.PARSER_MISSING, ", ".join(missing))
        return strategy

    def _default_for(self, reader: str, strategy: str) -> str:
        """What is there for a choice that leaves it open; the library would choose what may not be there."""
        if reader == "image":
            has_models = strategy == AUTO_STRATEGY and not self._missing(installation.HI_RES)
            return installation.HI_RES if has_models else installation.OCR_ONLY
        # The library's own choice for a PDF is by whether it has text.
        return AUTO_STRATEGY if not self._missing(installation.OCR_ONLY) else installation.FAST

    def _missing(self, strategy: str) -> tuple[str, ...]:
        return installation.missing_parts(self._environment, strategy, self._recognition)

    async def close(self) -> None:
        self._stop_timer()
        self._kill()
        await asyncio.gather(*self._reaping)

    async def _read(self, request: ParseRequest, folder: Path) -> ParseFailure | None:
        """Have a fork read the document into its folder; every breach of a limit ends it with the loaded process."""
        process = await self._running()
        document = folder / f"document.{file_ending(request)}"
        await asyncio.to_thread(shutil.copyfile, request.path, document)
        is_settled = False
        try:
            async with asyncio.timeout(_seconds(request)):
                failure = await _exchange(process, _message(request, document, self._recognition))
            # The watch over memory has ended both.
            is_settled = failure is None or failure.reason is not FailureReason.PARSE_MEMORY
            return failure
        except TimeoutError:
            return ParseFailure(FailureReason.PARSE_TIMEOUT)
        except (ConnectionError, ValueError):
            return ParseFailure(FailureReason.PARSER_CRASHED, "fork server")
        finally:
            if not is_settled:
                self._kill()

    async def _running(self) -> Process:
        if self._process is not None and self._process.returncode is None:
            return self._process
        python = installation.find_python(self._environment)
        if python is None:
            raise ParseFailure(FailureReason.PARSER_MISSING, "unstructured")
        self._process = process = await _start(python, self._recognition)
        is_ready = False
        try:
            async with asyncio.timeout(_START_SECONDS):
                is_ready = "ready" in await _answer(process)
        except (ConnectionError, ValueError, TimeoutError) as error:
            raise ParseFailure(FailureReason.PARSER_CRASHED, "start") from error
        finally:
            if not is_ready:
                self._kill()
        return process

    def _start_timer(self) -> None:
        if self._process is not None:
            self._timer = asyncio.get_running_loop().call_later(self._idle_seconds, self._kill)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _kill(self) -> None:
        """End the loaded process and its fork without waiting: the caller may be cancelled."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        reaping = asyncio.create_task(_reap(process))
        self._reaping.add(reaping)
        reaping.add_done_callback(self._reaping.discard)


async def _start(python: Path, recognition: OcrSettings) -> Process:
    root = Path(ingestion.__file__).parent.parent
    # Models that the operator has put into the environment; nothing is fetched.
    variables = {**_VARIABLES, "HF_HOME": str(installation.model_folder(python.parent.parent))}
    if recognition.data_dir:
        variables["TESSDATA_PREFIX"] = recognition.data_dir
    return await asyncio.create_subprocess_exec(
        str(python),
        *("-I", "-B", fork_server.__file__, str(root)),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env=variables,
        start_new_session=True,
    )


def _seconds(request: ParseRequest) -> float:
    """Time limit of one document; pictures of pages have that of our text recognition beside it."""
    is_slow = _reader(request) in _READERS_OF_PAGES and request.strategy != installation.FAST
    return request.limits.seconds + (request.limits.recognition_seconds if is_slow else 0)


def _reader(request: ParseRequest) -> str:
    """The library's partitioner for a file."""
    form = PARSERS.get(request.media_type)
    if form is not None and form.family is IMAGE:
        return "image"
    reader = _READERS.get(request.media_type)
    if reader is None:
        raise ParseFailure(FailureReason.PARSER_MISSING, request.media_type)
    return _READERS_OF_TEXTS.get(request.ending, reader) if reader == "text" else reader


def _message(request: ParseRequest, document: Path, recognition: OcrSettings) -> Mapping[str, object]:
    return {
        "path": str(document),
        "folder": str(document.parent),
        "reader": _reader(request),
        "strategy": request.strategy,
        "encoding": request.encoding,
        "languages": installed_languages(recognition),
        "language_data": recognition.data_dir,
        "seconds": ceil(_seconds(request)),
        "memory_bytes": request.limits.memory_bytes + _MEMORY_AT_REST,
        "growth_bytes": request.limits.memory_bytes,
        "file_bytes": max_reply_bytes(request.limits),
        "characters": request.limits.output_characters,
    }


async def _exchange(process: Process, message: Mapping[str, object]) -> ParseFailure | None:
    """Send a request and wait for the end of its fork; None if it wrote a result."""
    if process.stdin is None:
        raise ConnectionError
    process.stdin.write(json.dumps(message).encode() + b"\n")
    await process.stdin.drain()
    fork = int((await _answer(process))["fork"])
    memory = ChildMemoryWatch(process, ProcessMemory(fork), cast("int", message["growth_bytes"]))
    watch = asyncio.create_task(memory.run())
    try:
        code = int((await _answer(process))["code"])
    except ConnectionError:
        if memory.highest <= 1:
            raise
        return ParseFailure(FailureReason.PARSE_MEMORY)
    finally:
        watch.cancel()
    return exit_failure(code, memory.highest) if code != 0 else None


async def _answer(process: Process) -> Mapping[str, Any]:
    """The next line of the loaded process; ConnectionError at its end, ValueError for what is no such line."""
    if process.stdout is None:
        raise ConnectionError
    line = await process.stdout.readline()
    if not line:
        raise ConnectionError
    return cast("Mapping[str, Any]", json.loads(line))


async def _reap(process: Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    await process.wait()
