"""A pytest plugin: processes share the test files, from the front, the back and the middle of the list.

They claim whole files until none is left, so that all end at about the same time and each file's
fixtures are made once. Tests that start servers are at the ends, HTTP in front and faults at the
back, and mostly wait, which leaves time for a third process on the compute-bound middle. It goes on
to the ends when the middle is done, with the files that the others would reach last.
"""

import contextlib
import hashlib
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

_FRONT, _BETWEEN, _INDEXING, _BACK = range(4)
# What indexes needs an engine, which is less than a server.
_RANKS = {"e2e": _FRONT, "faults": _BACK, "ingestion": _INDEXING, "kb_service": _INDEXING}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options for the shared folder and the starting end."""
    group = parser.getgroup("sharing the test files with another process")
    group.addoption("--share", metavar="FOLDER", help="empty at the start; all must name it")
    group.addoption("--share-from", choices=("front", "back", "middle"), default="front")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Collect the files from different ends.

    Collection takes each process half a minute, mostly to compile assertions. Where they meet, each
    finds what the other has compiled.
    """
    report = yield
    if isinstance(collector, pytest.Dir) and _begins_at(collector.config) == "back":
        report.result = report.result and report.result[::-1]
    return report


def _begins_at(config: pytest.Config) -> str | None:
    return config.getoption("share_from") if config.getoption("share") is not None else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the files that no other process has claimed, as pytest's own loop would."""
    folder: str | None = session.config.getoption("share")
    if folder is None or session.testsfailed or session.config.option.collectonly:
        # A collection error fails everything.
        return None
    start = _begins_at(session.config)
    items = _claimed(_files(session.items, start), Path(folder))
    item = next(items, None)
    while item is not None:
        # Which fixtures end with a test follows from the one after it.
        following = next(items, None)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        item = following
    return True


def _files(items: list[pytest.Item], start: str | None) -> list[list[pytest.Item]]:
    """The tests of each file, in this process's order."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    # A backward process has collected them in that order.
    paths = sorted(files, key=_rank, reverse=start == "back")
    if start == "middle":
        # Tests at the ends are left to the processes that have their servers, as long as there are others.
        middle = [path for path in paths if _rank(path) not in (_FRONT, _BACK)]
        front = [path for path in paths if _rank(path) == _FRONT]
        back = [path for path in paths if _rank(path) == _BACK]
        paths = [*middle, *reversed(front), *back]
    return [files[path] for path in paths]


def _rank(path: Path) -> int:
    return next((_RANKS[part] for part in path.parts if part in _RANKS), _BETWEEN)


def _claimed(files: list[list[pytest.Item]], folder: Path) -> Iterator[pytest.Item]:
    for file in files:
        # Orders differ, so a process goes on after a claimed file.
        with contextlib.suppress(FileExistsError):
            (folder / hashlib.sha256(bytes(file[0].path)).hexdigest()).touch(exist_ok=False)
            yield from file
