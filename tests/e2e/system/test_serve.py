"""``agentex serve`` with all its real parts: start, refusals, kills and the end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.fixtures.paths import ROOT
from tests.fixtures.product.environment import without_settings
from tests.fixtures.product.processes import is_running, read_parts, redis_program, runtime_dir, wait_until

PARTS = ("redis", "engine", "worker", "api")
START_SECONDS = 300.0
BARE = {"AGENTEX_DOCUMENTATION_ENABLED": "false"}


class Serving:
    """A running ``agentex serve``."""

    def __init__(self, folder: Path, process: subprocess.Popen[str], output: Path) -> None:
        self.folder, self.process, self.output = folder, process, output

    @property
    def text(self) -> str:
        return self.output.read_text()

    @property
    def parts(self) -> dict[str, dict[str, Any]]:
        return read_parts(self.folder, self.process.pid)

    @property
    def url(self) -> str:
        line = next(line for line in self.text.splitlines() if line.strip().startswith("Console "))
        return line.split()[-1]

    def wait_ready(self) -> None:
        def ready() -> bool:
            assert self.process.poll() is None, self.text
            return "Agentex is ready" in self.text

        wait_until(ready, seconds=START_SECONDS, what=self.text)

    def is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz", timeout=5).status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False


@contextmanager
def serving(folder: Path, *options: str, **variables: str) -> Generator[Serving]:
    output = folder.with_name(f"{folder.name}-{time.monotonic_ns()}.out")
    command = [sys.executable, "-m", "cli.main", "serve", "--data-dir", str(folder), *options]
    cache = {name: os.environ[name] for name in ("AGENTEX_CACHE_DIR",) if name in os.environ}
    with output.open("w") as file:
        process = subprocess.Popen(
            command,
            stdout=file,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**without_settings(os.environ), **cache, **variables},
            cwd=ROOT,
            text=True,
        )
    run = Serving(folder, process, output)
    try:
        yield run
    finally:
        pids = {part["pid"] for part in run.parts.values() if part["pid"]}
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for pid in filter(psutil.pid_exists, pids):
            psutil.Process(pid).kill()


@pytest.fixture(autouse=True)
def _needs_redis() -> None:
    redis_program()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("serve") / "data"


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Serving]:
    redis_program()
    # The first start with the guide is tested in the browser.
    with serving(folder, "--port", "0", **BARE) as run:
        run.wait_ready()
        yield run


def test_first_start_shows_the_password_and_the_address(server: Serving, folder: Path):
    password = (folder / "initial-admin-password").read_text().strip()
    assert f"Password / 密码     {password}" in server.text
    assert httpx.get(f"{server.url}/docs", timeout=5).status_code == httpx.codes.OK
    # Another test may just have killed one of them.
    wait_until(lambda: {server.parts[name]["state"] for name in PARTS} == {"ready"}, seconds=START_SECONDS)
    assert server.parts["database"]["state"] == "done"


def test_client_finds_the_server_and_logs_in_by_itself(server: Serving, folder: Path, tmp_path: Path):
    config = {"XDG_CONFIG_HOME": str(tmp_path), "AGENTEX_DATA_DIR": str(folder)}
    said = subprocess.run(
        [sys.executable, "-m", "cli.main", "login", "--json"],
        env={**without_settings(os.environ), **config},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)["url"] == server.url


def test_second_start_on_the_folder_is_refused(server: Serving, folder: Path):
    with serving(folder, "--port", "0") as second:
        assert second.process.wait(30) == 3
        assert f"process {server.process.pid}" in second.text
    # Another test may just have killed one of its parts.
    wait_until(server.is_ready, seconds=START_SECONDS)


def test_start_on_a_taken_port_is_refused(server: Serving, tmp_path: Path):
    port = httpx.URL(server.url).port
    with serving(tmp_path / "other", "--port", str(port)) as second:
        assert second.process.wait(30) == 4
        assert f"Port {port}" in second.text


@pytest.mark.parametrize("name", PARTS)
def test_killed_part_is_back(server: Serving, name: str):
    before = server.parts[name]
    os.kill(before["pid"], signal.SIGKILL)
    wait_until(lambda: server.parts[name]["restarts"] == before["restarts"] + 1)
    wait_until(lambda: server.parts[name]["state"] == "ready", seconds=START_SECONDS)
    wait_until(server.is_ready, seconds=START_SECONDS)
    assert server.process.poll() is None


def test_next_start_works_after_the_supervisor_was_killed(tmp_path: Path):
    folder = tmp_path / "data"
    with serving(folder, "--port", "0", **BARE) as killed:
        killed.wait_ready()
        pids = [killed.parts[name]["pid"] for name in PARTS]
        killed.process.kill()
        killed.process.wait()
        port = str(httpx.URL(killed.url).port)
        with serving(folder, "--port", port, **BARE) as run:
            run.wait_ready()
            assert not any(map(is_running, pids))
            assert (folder / "initial-admin-password").read_text().strip() not in run.text
            pids = [run.parts[name]["pid"] for name in PARTS]
            run.process.terminate()
            assert run.process.wait(60) == 0
            assert not any(map(is_running, pids))
            assert "Traceback" not in run.text
            assert not (runtime_dir(folder) / "supervisor.json").exists()
