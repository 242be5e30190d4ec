"""Local files for ingestion: search, document names, hashes, reads with progress."""

import glob
import hashlib
import io
import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from cli.errors import CommandFailed
from cli.ui.i18n.common import PATH_MISSING, REASON_HIDDEN, REASON_LEADS_OUT, REASON_UNREADABLE, Message
from core.errors.base import AgentexError
from core.errors.requests import InvalidRequest
from ingestion.parsers.file_type import HEAD_BYTES, detect_type
from ingestion.parsers.format_support import EVERYTHING
from kb_service.document_names import document_name as joined_name

# What the server removes from names: a second run must find the names of the first.
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_BLOCK = 2**20
_STARS = re.compile(r"\*{2,}")


@dataclass(frozen=True)
class LocalFile:
    """A file to ingest.

    Args:
        name: of its document: the path below the named folder, ``a › b.html``.
        asked_for: named by the person, not found in a folder.
    """

    path: Path
    name: str
    asked_for: bool


@dataclass(frozen=True)
class SkippedFile:
    """A file that is not ingested, and why."""

    path: Path
    reason: Message
    asked_for: bool = False


class CountedFile(io.FileIO):
    """A file that calls ``on_progress`` with its position after each read."""

    def __init__(self, path: Path, on_progress: Callable[[int], None]) -> None:
        super().__init__(path, "rb")
        self._on_progress = on_progress

    def read(self, size: int | None = -1, /) -> bytes:
        block = super().read(-1 if size is None else size)
        self._on_progress(self.tell())
        return block


@dataclass
class LocalFiles:
    """Files and zip files to ingest, and skipped files."""

    files: list[LocalFile] = field(default_factory=list[LocalFile])
    archives: list[LocalFile] = field(default_factory=list[LocalFile])
    left_out: list[SkippedFile] = field(default_factory=list[SkippedFile])
    _seen_paths: set[Path] = field(default_factory=set[Path])

    def add(self, path: Path, relative: str, *, asked_for: bool) -> None:
        """Add a file once, under its first name."""
        where = path.resolve()
        if where in self._seen_paths:
            return
        self._seen_paths.add(where)
        if not _is_regular(path):
            self.left_out.append(SkippedFile(path, REASON_UNREADABLE, asked_for))
            return
        if path.suffix.lower() == ".zip":
            self.archives.append(LocalFile(path, document_name(relative), asked_for))
            return
        reason = _objection(path, path.name)
        if reason is not None:
            self.left_out.append(SkippedFile(path, reason, asked_for))
            return
        name = document_name(relative)
        # The server knows README by its whole name, which a folder in front hides.
        name = name if _objection(path, name) is None else f"{name}.txt"
        self.files.append(LocalFile(path, name, asked_for))


def find_files(arguments: Sequence[str]) -> LocalFiles:
    """Find files, folders with everything below them, and glob patterns.

    Skipped are hidden files below a folder, links that lead out of it, and files that no parser
    reads; the folder of a pattern is the part before its first wildcard.
    """
    local_files = LocalFiles()
    for argument in arguments:
        path = Path(argument).expanduser()
        if path.exists():
            _add(path, local_files)
            continue
        top = _top_of(path)
        real_top = top.resolve()
        for match in _matches(argument, path, top):
            # A single * goes through links to folders, too.
            reason = _objection_to_place(match, real_top)
            if reason is None:
                _add(match, local_files)
            else:
                local_files.left_out.append(SkippedFile(match, reason))
    return local_files


def _add(path: Path, local_files: LocalFiles) -> None:
    if path.is_dir():
        _add_folder(path, local_files)
    else:
        local_files.add(path, path.name, asked_for=True)


def _top_of(pattern: Path) -> Path:
    return Path(*takewhile(lambda part: not glob.has_magic(part), pattern.parts))


def _matches(argument: str, pattern: Path, top: Path) -> list[Path]:
    parts = [part if part == "**" else _STARS.sub("*", part) for part in pattern.parts[len(top.parts) :]]
    if parts and parts[-1] == "**":
        parts.append("*")
    # Unlike the module glob's, its ** goes through no links: two that lead upwards have no end.
    matches = sorted(top.glob("/".join(parts)), key=str) if parts else []
    if not any(part.startswith(".") for part in parts):
        matches = [match for match in matches if not _is_hidden(match.relative_to(top))]
    if not matches:
        raise CommandFailed(InvalidRequest("path", argument), PATH_MISSING, path=argument)
    files = [match for match in matches if not match.is_dir()]
    # With ** the folders match beside their files: walking them too would name each file twice.
    return files or matches


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _add_folder(top: Path, local_files: LocalFiles) -> None:
    real_top = top.resolve()
    for folder, folders, names in os.walk(top):
        hidden = sorted(name for name in (*folders, *names) if name.startswith("."))
        local_files.left_out += [SkippedFile(Path(folder, name), REASON_HIDDEN) for name in hidden]
        folders[:] = sorted(set(folders) - set(hidden))
        # Links to folders are not walked through; those within the folder need it not.
        local_files.left_out += [
            SkippedFile(path, reason)
            for path in (Path(folder, name) for name in folders)
            if (reason := _objection_to_link(path, real_top)) is not None
        ]
        for name in sorted(set(names) - set(hidden)):
            path = Path(folder, name)
            reason = _objection_to_link(path, real_top)
            if reason is not None:
                local_files.left_out.append(SkippedFile(path, reason))
                continue
            local_files.add(path, path.relative_to(top).as_posix(), asked_for=False)


def _objection_to_link(path: Path, real_top: Path) -> Message | None:
    return _objection_to_place(path, real_top) if path.is_symlink() else None


def _objection_to_place(path: Path, real_top: Path) -> Message | None:
    """Why a link is not followed: a foreign folder must not make its reader upload other files."""
    try:
        is_within = path.resolve().is_relative_to(real_top)
    except (OSError, RuntimeError):
        # One that leads to itself.
        return REASON_UNREADABLE
    return None if is_within else REASON_LEADS_OUT


def _is_regular(path: Path) -> bool:
    """Whether it is a regular file: opening a pipe would wait for a writer."""
    try:
        return path.is_file()
    except OSError:
        # In a folder that may be listed but not entered.
        return False


def _objection(path: Path, name: str) -> Message | None:
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        # Whether old Office files and pictures are read is for the server to say.
        detect_type(name, head, path.stat().st_size, EVERYTHING)
    except OSError:
        return REASON_UNREADABLE
    except AgentexError as error:
        return _reason(error)
    return None


def _reason(error: AgentexError) -> Message:
    """A refusal with what its details advise, in both languages."""
    action, action_zh = (str(error.details.get(name, "")) for name in ("next_action", "next_action_zh"))
    en = f"{error.message}. {action}" if action else error.message
    zh = f"{error.message_zh}。{action_zh}" if action_zh else error.message_zh
    # Braces of an address are no placeholders.
    return Message(*(text.replace("{", "{{").replace("}", "}}") for text in (en, zh)))


def document_name(relative: str) -> str:
    """The document's name for a path below the named folder: ``a/b.html`` is ``a › b.html``.

    The server has no folders. A name that is too long loses its first characters, not the
    file's own name.
    """
    text = unicodedata.normalize("NFC", relative.replace("\\", "/"))
    text = "".join(c for c in text if unicodedata.category(c) not in _INVISIBLE)
    return joined_name(text.split("/"))


def sha256(path: Path) -> str:
    """The file's hash in hex."""
    digest = hashlib.sha256()
    for block in _blocks(path):
        digest.update(block)
    return digest.hexdigest()


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block
