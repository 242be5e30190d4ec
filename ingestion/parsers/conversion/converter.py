"""The worker's side of the conversion by LibreOffice: a process per document that can be killed."""

import asyncio
import hashlib
import os
import shutil
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import cache
from math import ceil
from pathlib import Path

from core.logging import get_logger
from core.settings import Settings
from ingestion.parsers.conversion.availability import find_soffice
from ingestion.parsers.conversion.confinement import SOCKET_FOLDERS
from ingestion.parsers.conversion.formats import ConvertedFormat
from ingestion.parsers.conversion.launch import DAMAGED, OUTPUT, PROFILE, PROTECTED
from ingestion.parsers.conversion.profile import write_profile
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.sandbox.exit_codes import exit_failure
from ingestion.parsers.sandbox.folders import document_folder
from ingestion.parsers.sandbox.memory import ChildMemoryWatch, ProcessMemory

_log = get_logger(__name__)

_MODULE = "ingestion.parsers.conversion.launch"
_PREFIX = "agentex-convert-"
# It ends itself so after it has made its profile, to be started again.
_RESTART = 81
_MOST_STARTS = 3
# What the program takes before it has opened a document.
_MEMORY_AT_REST = 512 * 2**20
_NEEDED = frozenset({"no_network", "own_folder_only"})


class OfficeConverter:
    """Converts documents one at a time; starts nothing before the first."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def converted(self, path: Path, form: ConvertedFormat, limits: ParseLimits) -> AsyncGenerator[Path]:
        """The document in its target's format, until the end of the context.

        Cancellation kills LibreOffice at once, as does every breach of a limit. The time in which others are converted
        does not count.

        Raises:
            ParseFailure: ``corrupt_file``, ``converter_missing``, ``conversion_failed``, ``password_protected``, ``parse_timeout`` or
                ``parse_memory``.
        """
        async with document_folder(_PREFIX) as folder:
            async with self._turn:
                target = await _convert(folder, path, form, limits)
            yield target


def open_converter(settings: Settings) -> OfficeConverter | None:
    """A converter, if the operator asks for it."""
    return OfficeConverter() if "libreoffice" in settings.parsers else None


async def _convert(folder: Path, path: Path, form: ConvertedFormat, limits: ParseLimits) -> Path:
    program = find_soffice()
    if program is None:
        raise ParseFailure(FailureReason.CONVERTER_MISSING)
    document = f"document.{form.file_type}"
    await asyncio.to_thread(_fill, folder, path, document)
    conversion = _Conversion(folder, program, document, form.target, limits)
    target = folder / OUTPUT / f"document.{form.target}"
    try:
        async with asyncio.timeout(limits.seconds):
            code = _RESTART
            for _ in range(_MOST_STARTS):
                if code == _RESTART:
                    code = await conversion.run("convert")
            if code == 0 and _is_complete(target):
                return target
            if code == DAMAGED:
                raise ParseFailure(FailureReason.CORRUPT_FILE)
            is_protected = await conversion.run("check") == PROTECTED
    except TimeoutError as error:
        raise ParseFailure(FailureReason.PARSE_TIMEOUT) from error
    raise ParseFailure(FailureReason.PASSWORD_PROTECTED if is_protected else FailureReason.CONVERSION_FAILED)


def _fill(folder: Path, path: Path, document: str) -> None:
    write_profile(folder / PROFILE)
    (folder / OUTPUT).mkdir()
    shutil.copyfile(path, folder / document)


def _is_complete(target: Path) -> bool:
    # A link that a hostile document had made in place of a file is not followed.
    return target.is_file() and not target.is_symlink() and target.stat().st_size > 0


class _Conversion:
    """The processes of one conversion."""

    def __init__(self, folder: Path, program: Path, document: str, target: str, limits: ParseLimits) -> None:
        self._memory_bytes = limits.memory_bytes + _MEMORY_AT_REST
        self._places = (str(folder), str(program))
        self._bounds = (ceil(limits.seconds), self._memory_bytes, limits.archive_bytes)
        self._files = (document, target)

    async def run(self, action: str) -> int:
        """Start the process and wait for its end; its exit code.

        Raises:
            ParseFailure: it took too much memory or processor time.
        """
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-B", "-m", _MODULE, action, *self._places, *map(str, self._bounds), *self._files),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=DEVNULL,
            env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LC_ALL": "C.UTF-8"},
            start_new_session=True,
        )
        memory = ChildMemoryWatch(process, ProcessMemory(process.pid), self._memory_bytes)
        watch = asyncio.create_task(memory.run())
        try:
            _warn_of_confinement(await _first_line(process))
            return _checked(await process.wait(), memory.highest)
        finally:
            watch.cancel()
            try:
                await _kill(process)
            finally:
                # Also where a second cancellation ends the waiting: its time and its caller's may be up at once.
                _remove_sockets(Path(self._places[0]) / PROFILE)


async def _first_line(process: Process) -> frozenset[str]:
    if process.stdout is None:
        return frozenset()
    with suppress(ValueError):
        # A line beyond the reader's limit.
        return frozenset((await process.stdout.readline()).decode("ascii", "replace").split())
    return frozenset()


def _checked(code: int, memory_share: float) -> int:
    failure = exit_failure(code, memory_share)
    # Another end of the program is looked into by its exit code.
    if failure.reason is not FailureReason.PARSER_CRASHED:
        raise failure
    return code


async def _kill(process: Process) -> None:
    """End the process and all that it started; waits until it is gone, so that nothing is written any more."""
    # Its group may outlive it.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.returncode is None:
        await process.wait()


def _remove_sockets(profile: Path) -> None:
    """Remove LibreOffice's socket, which it may make but not remove."""
    for socket in sockets_of(profile):
        with suppress(OSError):
            socket.unlink()


def sockets_of(profile: Path) -> list[Path]:
    """The sockets that LibreOffice has made for a profile; their name is made of its address."""
    digest = hashlib.md5(profile.as_uri().encode("utf-16-le"), usedforsecurity=False).digest()
    pattern = f"OSL_PIPE_*{''.join(f'{byte:x}' for byte in digest)}"
    return [path for folder in SOCKET_FOLDERS for path in Path(folder).glob(pattern)]


@cache
def _warn_of_confinement(active: frozenset[str]) -> None:
    """Warn once that only LibreOffice's own settings keep documents from the network or from other files."""
    if not active >= _NEEDED:
        _log.warning("converter.not_confined", holds=sorted(active))
