"""Skills as they lie on this machine: files, folders, and standard input."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cli.problems import CommandFailed
from cli.skills import said
from core.errors import InvalidRequest

STDIN = "-"
_NAMES = ("SKILL.md", "skill.md")
_IGNORED = {".git", "__MACOSX", "__pycache__", "node_modules", ".DS_Store"}
_MOST_FILES = 5000
"""Beside one skill: a folder that has more is somebody's home, not a skill."""


@dataclass(frozen=True)
class LocalSkill:
    """A SKILL file and what lies beside it.

    Args:
        shown: its path as people see it; ``-`` for standard input.
        content: its bytes.
        path: of the file; ``None`` for standard input.
        folder: the name of the folder it is the skill of; ``None`` where it stands alone.
        files: the other files of that folder, relative, with ``/``; ``None`` where it stands alone.
    """

    shown: str
    content: bytes
    path: Path | None = None
    folder: str | None = None
    files: tuple[str, ...] | None = None


def find_skills(paths: Sequence[str]) -> list[LocalSkill]:
    """The skills at some paths: a file, a skill's folder, a folder of such folders, or ``-``.

    Raises:
        CommandFailed: there is none at one of them, or it can't be read.
    """
    if paths.count(STDIN) > 1:
        raise CommandFailed(InvalidRequest("path", "named twice"), said.STDIN_ONCE)
    return [skill for path in paths for skill in _at(path)]


def find_skill(path: str) -> LocalSkill:
    """The one skill at a path.

    Raises:
        CommandFailed: there is none, there are several, or it can't be read.
    """
    found = find_skills([path])
    if len(found) != 1:
        raise CommandFailed(InvalidRequest("path", "several skills"), said.NO_SKILL, path=path)
    return found[0]


def _at(given: str) -> Iterator[LocalSkill]:
    if given == STDIN:
        yield LocalSkill(STDIN, sys.stdin.buffer.read())
        return
    path = Path(given)
    if path.is_file():
        yield _read(path)
        return
    found = list(_within(path)) if path.is_dir() else []
    if not found:
        problem = InvalidRequest("path", "no skill")
        raise CommandFailed(problem, said.NO_SKILL, path=given)
    yield from map(_read, found)


def _within(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        file = next((name for name in _NAMES if name in names), None)
        if file is not None:
            yield Path(place, file)
            # What lies in a skill's folder is its own.
            folders.clear()
        folders[:] = sorted(set(folders) - _IGNORED)


def _read(path: Path) -> LocalSkill:
    try:
        content = path.read_bytes()
    except OSError as error:
        problem = InvalidRequest("path", "not readable")
        reason = error.strerror or ""
        raise CommandFailed(problem, said.FILE_UNREADABLE, path=path, reason=reason) from error
    if path.name not in _NAMES:
        return LocalSkill(str(path), content, path)
    folder = path.resolve().parent
    return LocalSkill(str(path), content, path, folder.name, tuple(beside(folder)))


def beside(folder: Path) -> Iterable[str]:
    """The files of a skill's folder, relative, with ``/``; what tools leave there is not its own."""
    count = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - _IGNORED)
        for name in sorted(set(names) - _IGNORED):
            count += 1
            if count > _MOST_FILES:
                return
            yield Path(place, name).relative_to(folder).as_posix()
