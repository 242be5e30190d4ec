"""Skills on this machine: files, folders, and standard input."""

import os
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from cli.errors import CommandFailed
from cli.ui.i18n import skills as messages
from core.errors.requests import InvalidRequest

STDIN = "-"
_NAMES = ("SKILL.md", "skill.md")
_IGNORED = {".git", "__MACOSX", "__pycache__", "node_modules", ".DS_Store"}
_MOST_FILES = 5000
"""Beside one skill: a folder that has more is somebody's home, not a skill."""


@dataclass(frozen=True)
class LocalSkill:
    """A SKILL file and the files beside it.

    Args:
        display_path: its printable path; ``-`` for standard input.
        path: ``None`` for standard input.
        folder: the name of the skill's folder; ``None`` if the file stands alone.
        files: the other files of that folder, relative, with ``/``; ``None`` if it stands alone.
    """

    display_path: str
    content: bytes
    path: Path | None = None
    folder: str | None = None
    files: tuple[str, ...] | None = None


def find_skills(paths: Sequence[str]) -> list[LocalSkill]:
    """The skills at some paths, each once.

    A path is a file, a skill's folder, a folder of such folders, or ``-``.
    """
    _check_input(paths)
    skills = (skill for path in paths for skill in _at(path))
    once: dict[Path | None, LocalSkill] = {}
    for skill in skills:
        once.setdefault(skill.path and skill.path.resolve(), skill)
    return [*once.values()]


def find_each(paths: Sequence[str]) -> list[LocalSkill]:
    """Exactly one skill for each path."""
    _check_input(paths)
    return [_only(path) for path in paths]


@contextmanager
def reading(path: Path) -> Generator[None]:
    """Turn read errors inside into ``CommandFailed``."""
    try:
        yield
    except OSError as error:
        details = {"path": error.filename or path, "reason": error.strerror or ""}
        problem = InvalidRequest("path", "not readable")
        raise CommandFailed(problem, messages.FILE_UNREADABLE, **details) from error


def beside(folder: Path) -> Iterator[str]:
    """The files of a skill's folder, relative, with ``/``, without those that tools leave there.

    A linked folder is not entered but listed like a file.
    """
    count = 0
    with reading(folder):
        for place, folders, names in os.walk(folder, onerror=_refuse):
            links = {name for name in folders if Path(place, name).is_symlink()}
            folders[:] = sorted(set(folders) - _IGNORED)
            for name in sorted({*names, *links} - _IGNORED):
                count += 1
                if count > _MOST_FILES:
                    problem = InvalidRequest("path", "too many files")
                    raise CommandFailed(problem, messages.TOO_MANY_FILES, path=folder, most=_MOST_FILES)
                yield Path(place, name).relative_to(folder).as_posix()


def _check_input(paths: Sequence[str]) -> None:
    if paths.count(STDIN) > 1:
        raise CommandFailed(InvalidRequest("path", "named twice"), messages.STDIN_ONCE)


def _only(path: str) -> LocalSkill:
    first, *others = _at(path)
    if others:
        raise CommandFailed(InvalidRequest("path", "several skills"), messages.SEVERAL, path=path)
    return first


def _at(argument: str) -> Iterator[LocalSkill]:
    if argument == STDIN:
        yield LocalSkill(STDIN, sys.stdin.buffer.read())
        return
    path = Path(argument)
    with reading(path):
        is_folder = path.is_dir()
        # Also a file that is not regular, such as the pipe of a shell's <(command).
        paths = [*_within(path)] if is_folder else [path] if path.exists() else []
    if not paths:
        problem = InvalidRequest("path", "no skill")
        raise CommandFailed(problem, messages.NO_SKILL, path=argument)
    yield from map(_read, paths)


def _within(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder, onerror=_refuse):
        file = next((name for name in _NAMES if name in names), None)
        if file is not None:
            yield Path(place, file)
            # Files in a skill's folder are its own.
            folders.clear()
        folders[:] = sorted(set(folders) - _IGNORED)


def _refuse(error: OSError) -> NoReturn:
    raise error


def _read(path: Path) -> LocalSkill:
    with reading(path):
        content = path.read_bytes()
    if path.name not in _NAMES:
        return LocalSkill(_display_path(path), content, path)
    # Where it stands, also if it is a link to a file elsewhere.
    folder = path.parent.resolve()
    files = tuple(beside(folder))
    return LocalSkill(_display_path(path), content, path, _display_path(Path(folder.name)), files)


def _display_path(path: Path) -> str:
    """A printable path: names may have bytes that are no UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")
