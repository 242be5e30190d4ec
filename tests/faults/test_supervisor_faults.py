"""The supervisor when processes are killed: children, itself, and what it left behind."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from redis import Redis
from redis.exceptions import RedisError

from cli.supervisor import redis_server
from cli.supervisor.preflight import find_leftovers
from core.settings import Settings
from tests.fixtures.product.processes import (
    CHILD,
    is_running,
    python,
    redis_program,
    runtime_dir,
    supervised,
    wait_until,
)

QUICK = {"first_pause": 0.01, "longest_pause": 0.02}
DIES = "import sys; print('the reason of death'); sys.exit(7)"
# Starts a process of its own, which ignores SIGTERM, and notes its number.
PARENT = """
import pathlib, signal, subprocess, sys
code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); signal.pause()"
child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
child.stdout.readline()
(pathlib.Path(sys.argv[1]) / "grandchild").write_text(str(child.pid))
signal.pause()
"""
IGNORES_TERM = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile 1: signal.pause()"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture(name="redis_program")
def _redis_program() -> str:
    return redis_program()


def part(data: Path, name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "command": python(CHILD, data, name), "gated": True, **fields}


def test_killed_part_is_started_again(data: Path):
    with supervised(data, [part(data, "one"), part(data, "two")], pace=QUICK) as run:
        run.allow("one", "two")
        run.wait_text("all ready")
        before = run.parts
        os.kill(before["one"]["pid"], signal.SIGKILL)
        wait_until(lambda: run.parts["one"]["restarts"] == 1)
        run.wait_state(one="ready")
        run.wait_text("one ended (signal 9)")
        assert run.parts["one"]["pid"] != before["one"]["pid"]
        assert run.parts["two"] == before["two"]
        assert run.text.count("all ready") == 1


def test_what_a_killed_part_had_started_is_ended(data: Path):
    with supervised(data, [{"name": "one", "command": python(PARENT, data)}], pace=QUICK) as run:
        note = data / "grandchild"
        first = int(wait_until(lambda: note.exists() and note.read_text()))
        os.kill(run.parts["one"]["pid"], signal.SIGKILL)
        wait_until(lambda: not is_running(first))
        second = int(wait_until(lambda: (text := note.read_text()) != str(first) and text))
        assert run.stop() == 0
        wait_until(lambda: not is_running(second))


def test_part_that_keeps_dying_is_named_with_its_last_lines_and_tried_on(data: Path):
    dies = {"name": "one", "command": python(DIES), "advice": "Do this."}
    with supervised(data, [dies, part(data, "two")], pace=QUICK) as run:
        run.wait_text("one ended 5 times in a row")
        run.wait_text("one | the reason of death")
        run.wait_text("Do this.")
        wait_until(lambda: run.parts["one"]["restarts"] > 7)
        assert run.text.count("times in a row") == 1
        assert "exit 7" in run.text
        run.allow("two")
        run.wait_state(two="ready")
        assert run.stop() == 0


def test_deaths_are_forgotten_when_a_part_was_healthy_in_between(data: Path):
    dies = {"name": "one", "command": python(DIES)}
    with supervised(data, [dies], pace={**QUICK, "healthy_after": 0.0}) as run:
        wait_until(lambda: run.parts.get("one", {}).get("restarts", 0) > 7)
        assert "times in a row" not in run.text


def test_stop_does_not_wait_for_the_pause_of_a_dead_part(data: Path):
    dies = {"name": "one", "command": python(DIES)}
    with supervised(data, [dies], pace={"first_pause": 300.0, "longest_pause": 300.0}) as run:
        run.wait_state(one="restarting")
        assert run.stop() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children of the death")
def test_parts_end_when_the_supervisor_is_killed(data: Path):
    with supervised(data, [part(data, "one")]) as run:
        run.allow("one")
        run.wait_text("all ready")
        pid = run.parts["one"]["pid"]
        run.process.kill()
        wait_until(lambda: not is_running(pid))
        assert run.order == ["start one", "end one"]


def test_next_start_succeeds_when_the_supervisor_was_killed(data: Path):
    with supervised(data, [part(data, "one")]) as killed:
        killed.allow("one")
        killed.wait_text("all ready")
        killed.process.kill()
        killed.process.wait()
        with supervised(data, [part(data, "one")]) as run:
            run.wait_text("all ready")
            assert run.stop() == 0


def test_next_start_stops_what_a_killed_supervisor_left(data: Path):
    deaf = {"name": "deaf", "command": python(IGNORES_TERM)}
    with supervised(data, [deaf, part(data, "one")]) as killed:
        killed.allow("one")
        killed.wait_text("all ready")
        pid = killed.parts["deaf"]["pid"]
        killed.process.kill()
        killed.process.wait()
        with supervised(data, [part(data, "one")]) as run:
            run.wait_text("Stopped what an earlier start left running: deaf")
            run.wait_text("all ready")
            assert not is_running(pid)


@pytest.mark.parametrize("open_pair", [os.pipe, pty.openpty])
def test_parts_live_on_and_drain_when_nobody_reads_the_output(data: Path, open_pair: Callable[[], tuple[int, int]]):
    read_end, write_end = open_pair()
    with (
        open(read_end, "rb", buffering=0) as reader,
        open(write_end, "wb", buffering=0) as writer,
        supervised(data, [part(data, "one")], pace=QUICK, stdout=writer.fileno()) as run,
    ):
        writer.close()
        run.wait_state(one="starting")
        reader.close()
        run.allow("one")
        run.wait_state(one="ready")
        os.kill(run.parts["one"]["pid"], signal.SIGKILL)
        wait_until(lambda: run.order.count("start one") == 2)
        # Before it is noted, the state is that of the one that was killed.
        wait_until(lambda: run.parts["one"]["restarts"] == 1)
        run.wait_state(one="ready")
        assert run.stop() == 0
        assert run.order[-1] == "end one"


def test_process_that_got_an_old_number_is_left_alone(tmp_path: Path):
    here = psutil.Process()
    state = tmp_path / "supervisor.json"

    def record(started: float) -> None:
        parts = {"one": {"pid": here.pid, "started": started}, "two": {"pid": None, "started": 1}}
        state.write_text(json.dumps({"supervisor": 1, "parts": parts}))

    record(here.create_time() - 60)
    assert find_leftovers(state) == []
    record(here.create_time())
    assert [leftover.name for leftover in find_leftovers(state)] == ["one"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"parts": {"one": 3}}', '{"parts": [1]}'])
def test_damaged_state_file_means_no_leftovers(tmp_path: Path, content: str):
    state = tmp_path / "supervisor.json"
    state.write_text(content)
    assert find_leftovers(state) == []


@pytest.fixture
def client(data: Path) -> Iterator[Redis]:
    with Redis(unix_socket_path=str(runtime_dir(data) / "redis.sock")) as redis:
        yield redis


def answers(client: Redis) -> bool:
    try:
        return bool(client.ping())
    except RedisError:
        return False


@pytest.mark.usefixtures("redis_program")
def test_private_redis_keeps_its_keys_over_a_restart(data: Path, client: Redis):
    for value in (None, b"kept"):
        with supervised(data, [part(data, "one")], private_redis=True) as run:
            run.allow("one")
            run.wait_text("all ready")
            wait_until(lambda: answers(client))
            assert client.get("key") == value
            assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
            assert client.config_get("port") == {"port": "0"}
            client.set("key", "kept")
            assert run.stop() == 0
        client.connection_pool.disconnect()


@pytest.mark.usefixtures("redis_program")
def test_private_redis_is_back_with_its_keys_when_killed(data: Path, client: Redis):
    with supervised(data, [], private_redis=True, pace=QUICK) as run:
        # Either may come first: its answer, or its number in the supervisor's file.
        wait_until(lambda: answers(client) and run.parts["redis"]["pid"])
        client.set("key", "kept")
        os.kill(run.parts["redis"]["pid"], signal.SIGKILL)
        wait_until(lambda: run.parts["redis"]["restarts"] == 1 and answers(client))
        assert client.get("key") == b"kept"


def test_private_redis_without_supervisor_is_stopped_at_the_next_start(data: Path, client: Redis, redis_program: str):
    settings = Settings(data_dir=data)
    for folder in (settings.runtime_dir, redis_server.data_folder(settings)):
        folder.mkdir(parents=True)
    configuration = redis_server.write_configuration(settings)
    orphan = subprocess.Popen([redis_program, str(configuration)], stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: answers(client))
        with supervised(data, [], private_redis=True) as run:
            run.wait_text("Stopped what an earlier start left running: redis")
            assert orphan.wait(20) == 0
            wait_until(lambda: answers(client))
            assert run.stop() == 0
    finally:
        orphan.kill()
        orphan.wait()


def test_dead_socket_is_removed(tmp_path: Path):
    settings = Settings(data_dir=tmp_path)
    settings.runtime_dir.mkdir()
    path = settings.runtime_dir / "redis.sock"
    path.touch()
    assert not redis_server.stop_leftover(settings, 1.0)
    assert not path.exists()


@pytest.mark.parametrize("name", ["plain", "with space", 'with "quote"', "中文"])
def test_private_redis_starts_in_a_folder_of_any_name(tmp_path: Path, redis_program: str, name: str):
    folder = tmp_path / name
    with supervised(folder, [], private_redis=True) as run:
        with Redis(unix_socket_path=str(runtime_dir(folder) / "redis.sock")) as client:
            wait_until(lambda: answers(client), what=run.text)
        assert run.stop() == 0
        assert list((folder / "redis").iterdir())
