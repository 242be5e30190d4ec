"""A contract server, and the command line in this process with folders of the test's own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import build
from core.settings import get_settings
from tests.fixtures.paths import ROOT
from tests.fixtures.product.environment import forget_settings
from tests.fixtures.servers.contract_server import API_KEY, Contract, contract_server


@dataclass(frozen=True)
class CommandResult:
    """What a command left: its exit code and its two outputs."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Agentex = Callable[..., CommandResult]


@pytest.fixture
def server() -> Iterator[Contract]:
    with contract_server() as state:
        yield state


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An account on this machine with nothing stored; gives its configuration folder."""
    config = tmp_path / "config"
    with forget_settings(monkeypatch):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        monkeypatch.setenv("AGENTEX_DATA_DIR", str(tmp_path / "data"))
        monkeypatch.setenv("LC_ALL", "C.UTF-8")
        monkeypatch.chdir(tmp_path)
        yield config / "agentex"


@pytest.fixture
def agentex(server: Contract, person: Path, monkeypatch: pytest.MonkeyPatch) -> Agentex:
    """Runs a command against the contract server, authenticated by an API key."""
    monkeypatch.setenv("AGENTEX_URL", server.url)
    monkeypatch.setenv("AGENTEX_API_KEY", API_KEY)
    get_settings.cache_clear()
    return run_here


@pytest.fixture
def stranger(server: Contract, person: Path, monkeypatch: pytest.MonkeyPatch) -> Agentex:
    """Runs a command against the contract server, with no credentials."""
    monkeypatch.setenv("AGENTEX_URL", server.url)
    get_settings.cache_clear()
    return run_here


def run_here(*arguments: str, stdin: str = "") -> CommandResult:
    result = CliRunner().invoke(build(), list(arguments), input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return CommandResult(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def process() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts the command line as a process of its own, ended with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, "-m", "cli.main", *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            **{
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                "text": True,
                **options,
            },
        )
        started.append(child)
        return child

    yield start
    for child in started:
        if child.poll() is None:
            child.kill()
        child.communicate()
