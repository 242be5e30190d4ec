"""``agentex rule`` as a process of its own: the log as it is written, and the editor at a terminal."""

import json
import os
import pty
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.fixtures.http.client import Api, eventually
from tests.fixtures.paths import ROOT
from tests.fixtures.product.cli_commands import commands_of
from tests.fixtures.product.server import Server
from tests.fixtures.rules.stored_rows import add_firing
from tests.fixtures.rules.written_rules import PATH, developer, plain

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def owner(embedded: Server) -> Api:
    return developer(embedded)


@pytest.fixture
def rule(owner: Api) -> dict[str, Any]:
    return owner.post(PATH, plain(name="Hello"))


@pytest.fixture
def start(embedded: Server, owner: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts ``agentex rule ...`` with the key of the owner, ended with the test."""
    children: list[subprocess.Popen[str]] = []

    def begin(*words: str, stdin: int = subprocess.DEVNULL, **environment: str) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, "-m", "cli.main", "rule", *words],
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        children.append(child)
        return child

    with commands_of("rule", embedded, owner, tmp_path, monkeypatch):
        yield begin
    for child in children:
        child.kill()
        child.communicate()


class CuttableRelay:
    """Carries connections to a port of this machine, until they are cut."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self._threads = [Thread(target=self._serve)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def cut(self) -> None:
        """Break all connections off; new ones are carried again."""
        for end in list(self._ends):
            _shut(end)

    def close(self) -> None:
        _shut(self._listening)
        self._threads[0].join()
        self.cut()
        for thread in self._threads:
            thread.join()
        for end in (self._listening, *self._ends):
            end.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._listening.accept()
                self._ends.append(caller)
                called = socket.create_connection(("127.0.0.1", self._target))
                self._ends.append(called)
                for ends in ((caller, called), (called, caller)):
                    self._threads.append(Thread(target=self._carry, args=ends))
                    self._threads[-1].start()

    def _carry(self, giver: socket.socket, taker: socket.socket) -> None:
        with suppress(OSError):
            while piece := giver.recv(65536):
                taker.sendall(piece)
        _shut(giver)
        _shut(taker)


def _shut(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


@contextmanager
def relay_to(server: Server) -> Iterator[CuttableRelay]:
    relay = CuttableRelay(server.settings.port)
    try:
        yield relay
    finally:
        relay.close()


def read_lines(child: subprocess.Popen[str]) -> list[str]:
    """The lines of a process's output, as it writes them."""
    lines: list[str] = []

    def read() -> None:
        assert child.stdout is not None
        # One by one: a list comprehension would wait for the end.
        for line in child.stdout:
            lines.append(line)  # noqa: PERF402

    Thread(target=read, daemon=True).start()
    return lines


def test_log_is_followed_until_the_rule_is_gone(start: Start, embedded: Server, owner: Api, rule: dict[str, Any]):
    numbers = count(1)
    child = start("logs", "Hello", "--follow", "--status", "failed", "--json")
    lines = read_lines(child)

    def wrote() -> list[str]:
        # Entries of before the stream began are not shown.
        add_firing(embedded, rule, next(numbers), status="success")
        add_firing(embedded, rule, next(numbers), status="failed")
        return lines

    eventually(wrote, pause=0.3)
    owner.delete(f"{PATH}/{rule['id']}")
    assert child.wait(60) == 0
    assert {json.loads(line)["status"] for line in lines} == {"failed"}


def test_log_is_followed_on_without_a_gap_where_the_connection_breaks_off(
    start: Start, embedded: Server, rule: dict[str, Any]
):
    with relay_to(embedded) as relay:
        child = start("logs", "Hello", "--follow", "--json", AGENTEX_URL=relay.url)
        lines = read_lines(child)
        numbers = count(1)
        eventually(lambda: add_firing(embedded, rule, next(numbers)) and lines, pause=0.3)
        relay.cut()
        last = [add_firing(embedded, rule, next(numbers)) for _ in range(3)]
        eventually(lambda: [json.loads(line)["id"] for line in lines[-3:]] == last)
        ids = [json.loads(line)["id"] for line in lines]
        assert len(ids) == len(set(ids))


@contextmanager
def terminal() -> Iterator[int]:
    """The file descriptor of a terminal at which somebody sits."""
    outer, inner = pty.openpty()
    try:
        yield inner
    finally:
        os.close(inner)
        os.close(outer)


def test_rule_is_changed_in_an_editor(start: Start, owner: Api, rule: dict[str, Any]):
    path = f"{PATH}/{rule['id']}"
    with terminal() as stdin:
        changed = start("edit", "Hello", stdin=stdin, VISUAL="sed -i s/joined/left/")
        assert changed.wait(60) == 0, changed.stderr
        assert owner.get(path)["actions"][0]["params"]["text"] == "left"
        same = start("edit", "Hello", stdin=stdin, VISUAL="true")
        assert "Nothing was changed" in same.communicate(timeout=60)[0]
        assert owner.get(path)["version"] == 2

        wrong = start("edit", "Hello", stdin=stdin, VISUAL="sed -i s/notify/shout/")
        _, words = wrong.communicate(timeout=60)
        assert (wrong.returncode, "actions.0" in words) == (2, True)
        (kept,) = [word for word in words.split() if word.endswith(".json")][-1:]
        assert '"shout"' in Path(kept).read_text()
        Path(kept).unlink()
    nobody = start("edit", "Hello", VISUAL="true")
    assert (nobody.wait(60), owner.get(path)["version"]) == (2, 2)
