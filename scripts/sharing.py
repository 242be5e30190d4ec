"""A pytest plugin: processes share the test files, from the front, the back and the middle of the list.

They claim whole files until none is left, so that all end at about the same time and each file's
fixtures are made once. A file is imported, and its tests are listed, by the process that claims it.
Tests that start servers are at the ends, HTTP in front and faults at the back, and mostly wait, which
leaves time for a third process on the compute-bound middle. It goes on to the ends when the middle is
done, with the files that the others would reach last.
"""

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

_FRONT, _BETWEEN, _INDEXING, _BACK = range(4)
# What indexes needs an engine, which is less than a server.
_RANKS = {"e2e": _FRONT, "faults": _BACK, "ingestion": _INDEXING, "kb_service": _INDEXING}
# The longest files are here. Where the processes meet, at the end, short ones keep all of them at work.
_FIRST_FOLDERS = ("tests/e2e/knowledge_bases", "tests/e2e/console")
_MESSAGE_CHARACTERS = 300
_FILES = pytest.StashKey[list[pytest.File]]()
"""Those that were found; only until the first is claimed."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options for the shared folder and the starting end."""
    group = parser.getgroup("sharing the test files with another process")
    group.addoption("--share", metavar="FOLDER", help="empty at the start; all must name it")
    group.addoption("--share-from", choices=("front", "back", "middle"), default="front")


def pytest_configure(config: pytest.Config) -> None:
    """Prepare to find files without their tests."""
    if config.getoption("share") is not None and not config.option.collectonly:
        config.stash[_FILES] = []
        config.pluginmanager.register(FailureReporter(config))


@pytest.hookimpl(tryfirst=True)
def pytest_make_collect_report(collector: pytest.Collector) -> pytest.CollectReport | None:
    """Put a file's tests off until the file is claimed."""
    files = collector.config.stash.get(_FILES, None)
    if files is None or not isinstance(collector, pytest.File):
        return None
    files.append(collector)
    return pytest.CollectReport(collector.nodeid, "passed", None, [])


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the files that no other process has claimed, as pytest's own loop would."""
    files = session.config.stash.get(_FILES, None)
    if files is None:
        return None
    # From here on files are imported.
    del session.config.stash[_FILES]
    # Other processes may run them all, which is no failure.
    session.testscollected = len(files)
    items = _claimed(session, _in_order(files, str(session.config.getoption("share_from"))))
    item = next(items, None)
    while item is not None:
        # Which fixtures end with a test follows from the one after it.
        following = next(items, None)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if following is None or following.path != item.path:
            _report_progress(session.config, len(files))
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        item = following
    return True


@dataclass(frozen=True)
class FailureReporter:
    """Writes a line for each failure as it comes: the sections at the end are never printed where a run is cut off."""

    config: pytest.Config

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the test and the first line of what went wrong."""
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and reporter is not None:
            crash = getattr(report.longrepr, "reprcrash", None)
            message = str(getattr(crash, "message", "")).partition("\n")[0]
            reporter.write_line(f"FAILED in {report.when}: {report.nodeid} {message[:_MESSAGE_CHARACTERS]}")


def _report_progress(config: pytest.Config, total: int) -> None:
    """Write behind a file's results how many were begun by all processes; pytest's percentages know only claimed ones."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        claimed = sum(1 for _ in _folder(config).iterdir())
        reporter.write(f" [{claimed} of {total}]")


def _claimed(session: pytest.Session, files: list[pytest.File]) -> Iterator[pytest.Item]:
    folder = _folder(session.config)
    for file in files:
        # Orders differ, so a process goes on after a claimed file.
        with contextlib.suppress(FileExistsError):
            (folder / hashlib.sha256(bytes(file.path)).hexdigest()).touch(exist_ok=False)
            yield from _tests(session, file)


def _folder(config: pytest.Config) -> Path:
    return Path(str(config.getoption("share")))


def _in_order(files: list[pytest.File], start: str) -> list[pytest.File]:
    ordered = sorted(files, key=lambda file: (_rank(file), not file.nodeid.startswith(_FIRST_FOLDERS)))
    if start == "back":
        ordered.reverse()
    if start == "middle":
        # Tests at the ends are left to the processes that have their servers, as long as there are others.
        middle = [file for file in ordered if _rank(file) not in (_FRONT, _BACK)]
        front = [file for file in ordered if _rank(file) == _FRONT]
        back = [file for file in ordered if _rank(file) == _BACK]
        ordered = [*middle, *reversed(front), *back]
    return ordered


def _rank(file: pytest.File) -> int:
    return next((_RANKS[part] for part in file.path.parts if part in _RANKS), _BETWEEN)


def _tests(session: pytest.Session, file: pytest.File) -> list[pytest.Item]:
    """The tests of a file that the command line selects; a file that can't be imported fails the run."""
    session.items = list(session.genitems(file))
    session.config.hook.pytest_collection_modifyitems(session=session, config=session.config, items=session.items)
    session.testscollected += len(session.items)
    return session.items
