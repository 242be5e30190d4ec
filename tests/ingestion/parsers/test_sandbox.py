"""The parser child as a real process: warm, bounded, killable, isolated."""

import asyncio
import ctypes
import os
import platform
import signal
import socket
import subprocess
import sys

import psutil
import pytest

from core.errors.requests import UnsupportedFileType
from ingestion.parsers import parser_for
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.sandbox.client import ParserChild
from ingestion.parsers.sandbox.protocol import HEADER, ParseRequest, pack_reply, unpack_reply
from tests.fixtures.paths import PARSER_DATA

pytestmark = pytest.mark.anyio
GUIDE = PARSER_DATA / "guide.md"


@pytest.fixture
async def child():
    child = ParserChild()
    yield child
    await child.close()


@pytest.fixture
def slow_file(tmp_path):
    """A text that takes some seconds to parse."""
    path = tmp_path / "slow.md"
    path.write_text("- item with *some* words\n\n" * 400_000)
    return path


async def reason_of(call):
    with pytest.raises(ParseFailure) as caught:
        await call
    return caught.value.reason


async def until(condition):
    async with asyncio.timeout(60):
        # Facts about other processes come without events.
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def in_thread(command):
    return await asyncio.to_thread(subprocess.run, command, capture_output=True, timeout=30)


def is_gone(pid):
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


async def test_child_gives_what_the_parser_gives(child):
    for name, media_type in (
        ("guide.md", "text/markdown"),
        ("handbook.pdf", "application/pdf"),
        ("manual.html", "text/html"),
    ):
        there = await child.parse(PARSER_DATA / name, media_type)
        assert there == parser_for(media_type)(PARSER_DATA / name, ParseLimits())


async def test_child_stays_warm_between_documents(child):
    assert child.pid is None
    await child.parse(GUIDE, "text/markdown")
    first = child.pid
    await child.parse(GUIDE, "text/markdown")
    assert await reason_of(child.parse(PARSER_DATA / "locked.pdf", "application/pdf")) == ("password_protected")
    assert child.pid == first


async def test_calls_at_the_same_time_are_served_in_turn(child):
    results = await asyncio.gather(*(child.parse(GUIDE, "text/markdown") for _ in range(5)))
    assert all(result == results[0] for result in results)


async def test_child_is_replaced_after_its_number_of_documents():
    child = ParserChild(recycle_after=2)
    pids = []
    for _ in range(4):
        await child.parse(GUIDE, "text/markdown")
        pids.append(child.pid)
    await child.close()
    assert pids[0] == pids[1] != pids[2] == pids[3]
    assert is_gone(pids[0])


async def test_child_is_replaced_when_it_has_grown():
    child = ParserChild(recycle_bytes=1)
    await child.parse(GUIDE, "text/markdown")
    first = child.pid
    await child.parse(GUIDE, "text/markdown")
    assert child.pid != first
    await child.close()


async def test_parse_over_its_time_is_killed(child, slow_file):
    call = child.parse(slow_file, "text/markdown", limits=ParseLimits(seconds=0.3))
    started = asyncio.get_running_loop().time()
    assert await reason_of(call) is FailureReason.PARSE_TIMEOUT
    assert asyncio.get_running_loop().time() - started < 15
    assert child.pid is None
    assert (await child.parse(GUIDE, "text/markdown")).elements


async def test_files_behind_one_that_ends_the_child_are_parsed_in_another(child, slow_file):
    short = ParseLimits(seconds=0.5)
    asked = [
        ParseRequest(GUIDE, "text/markdown", ParseLimits()),
        ParseRequest(slow_file, "text/markdown", short),
        ParseRequest(PARSER_DATA / "locked.pdf", "application/pdf", ParseLimits()),
        ParseRequest(GUIDE, "text/markdown", ParseLimits()),
    ]
    first, slow, locked, last = await child.parse_each(asked)
    assert first == last == parser_for("text/markdown")(GUIDE, ParseLimits())
    assert slow.reason is FailureReason.PARSE_TIMEOUT
    assert locked.reason is FailureReason.PASSWORD_PROTECTED
    pid = child.pid
    assert await child.parse_each(asked[:1] * 50) == [first] * 50
    assert child.pid == pid


async def test_cancelled_parse_kills_the_child_at_once(child, slow_file):
    await child.parse(GUIDE, "text/markdown")
    pid = child.pid
    call = asyncio.create_task(child.parse(slow_file, "text/markdown"))
    await until(lambda: psutil.Process(pid).memory_info().rss > 60 * 2**20)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until(lambda: is_gone(pid))
    assert (await child.parse(GUIDE, "text/markdown")).elements


async def test_processor_time_limit_is_a_timeout(child, slow_file):
    await child.parse(GUIDE, "text/markdown")
    call = asyncio.create_task(child.parse(slow_file, "text/markdown"))
    pid = child.pid
    await until(lambda: psutil.Process(pid).memory_info().rss > 60 * 2**20)
    os.kill(pid, signal.SIGXCPU)
    with pytest.raises(ParseFailure) as caught:
        await call
    assert caught.value.reason is FailureReason.PARSE_TIMEOUT
    # Nobody held it up: a second try would take as long.
    assert not caught.value.retryable


async def test_kernel_ends_a_child_that_uses_up_its_processor_time():
    program = "from ingestion.parsers.sandbox import limits as jail\njail.limit_processor_time(0.1)\nwhile True: pass"
    run = await in_thread([sys.executable, "-c", program])
    assert run.returncode == -signal.SIGXCPU


@pytest.mark.skipif(sys.platform != "linux", reason="address space is bounded on Linux only")
async def test_address_space_limit_refuses_a_large_allocation():
    program = (
        "from ingestion.parsers.sandbox import limits as jail\njail.limit_memory(64 * 2**20)\n"
        "kept = bytes(32 * 2**20)\n"
        "try:\n    bytes(64 * 2**20)\nexcept MemoryError:\n    print('refused')"
    )
    run = await in_thread([sys.executable, "-c", program])
    assert run.stdout.strip() == b"refused"


async def test_crash_is_reported_and_the_next_document_works(child, slow_file):
    await child.parse(GUIDE, "text/markdown")
    call = asyncio.create_task(child.parse(slow_file, "text/markdown"))
    pid = child.pid
    await until(lambda: psutil.Process(pid).memory_info().rss > 60 * 2**20)
    os.kill(pid, signal.SIGSEGV)
    with pytest.raises(ParseFailure) as caught:
        await call
    assert caught.value.reason is FailureReason.PARSER_CRASHED
    assert caught.value.retryable
    assert caught.value.detail == "SIGSEGV"
    assert (await child.parse(GUIDE, "text/markdown")).elements


async def test_child_that_died_while_idle_is_started_anew(child):
    await child.parse(GUIDE, "text/markdown")
    pid = child.pid
    os.kill(pid, signal.SIGKILL)
    await until(lambda: is_gone(pid))
    try:
        parsed = await child.parse(GUIDE, "text/markdown")
    except ParseFailure:
        parsed = await child.parse(GUIDE, "text/markdown")
    assert parsed.elements


async def test_memory_over_the_limit_fails(child, tmp_path):
    path = tmp_path / "big.json"
    path.write_text("[" + ",".join(['{"a": [1, 2, 3]}'] * 400_000) + "]")
    limits = ParseLimits(memory_bytes=64 * 2**20)
    call = child.parse(path, "application/json", limits=limits)
    assert await reason_of(call) is FailureReason.PARSE_MEMORY
    assert (await child.parse(GUIDE, "text/markdown", limits=limits)).elements


async def test_missing_file_is_a_crash_without_text_of_the_error(child, tmp_path):
    with pytest.raises(ParseFailure) as caught:
        await child.parse(tmp_path / "gone.md", "text/markdown")
    assert caught.value.reason is FailureReason.PARSER_CRASHED
    assert caught.value.detail == "FileNotFoundError"
    assert "gone.md" not in str(caught.value)


async def test_unknown_media_type_is_refused(child):
    with pytest.raises(UnsupportedFileType):
        await child.parse(GUIDE, "application/x-unknown")
    assert child.pid is None


async def test_closed_child_is_gone_and_can_start_again(child):
    await child.parse(GUIDE, "text/markdown")
    pid = child.pid
    await child.close()
    assert is_gone(pid)
    assert (await child.parse(GUIDE, "text/markdown")).elements


async def test_child_has_no_variable_of_the_worker(child, monkeypatch):
    monkeypatch.setenv("AGENTEX_SECRET_KEY", "a secret of the worker")
    await child.parse(GUIDE, "text/markdown")
    names = set(psutil.Process(child.pid).environ())
    assert "PYTHONPATH" in names
    assert not any(name.startswith("AGENTEX") for name in names)


async def test_child_dies_with_the_process_that_started_it(tmp_path):
    program = (
        "import asyncio, os, pathlib\n"
        "from ingestion.parsers.sandbox.client import ParserChild\n"
        "async def main():\n"
        "    child = ParserChild()\n"
        f"    await child.parse(pathlib.Path({str(GUIDE)!r}), 'text/markdown')\n"
        "    print(child.pid, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    run = await in_thread([sys.executable, "-c", program])
    assert run.returncode == -signal.SIGKILL
    await until(lambda: is_gone(int(run.stdout)))


def test_reply_is_the_same_after_the_wire():
    parsed = parser_for("text/markdown")(GUIDE, ParseLimits())
    frame = pack_reply(parsed)
    assert unpack_reply(frame[HEADER.size :]) == parsed
    failure = unpack_reply(pack_reply(ParseFailure(FailureReason.TOO_COMPLEX, "x"))[HEADER.size :])
    assert isinstance(failure, ParseFailure)
    assert (failure.reason, failure.detail) == (FailureReason.TOO_COMPLEX, "x")


JAILED = """
import os, socket, subprocess, sys
from pathlib import Path
from ingestion.parsers.sandbox import limits as jail
held = jail.enter_sandbox()
folder, port = Path(sys.argv[1]), int(sys.argv[2])
def attempt(name, action):
    try:
        action()
    except OSError as error:
        print(name, "refused", type(error).__name__)
    else:
        print(name, "done")
attempt("grow", lambda: folder.joinpath("kept").open("ab", buffering=0).write(b"x"))
attempt("create", lambda: folder.joinpath("new").touch())
attempt("delete", lambda: folder.joinpath("kept").unlink())
attempt("cut", lambda: os.truncate(folder / "kept", 0))
attempt("connect", lambda: socket.create_connection(("127.0.0.1", port), timeout=2))
attempt("start", lambda: subprocess.run(["true"], check=False))
attempt("read", lambda: folder.joinpath("kept").read_bytes())
print(*held)
"""


def test_jailed_process_can_read_but_not_write_connect_or_start_others(tmp_path):
    kept = tmp_path / "kept"
    kept.write_text("as it was")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        run = subprocess.run(
            [sys.executable, "-c", JAILED, str(tmp_path), port],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    *attempts, held = run.stdout.splitlines()
    outcomes = dict(line.split(" ", 1) for line in attempts)
    assert outcomes["grow"].startswith("refused")
    assert outcomes["connect"] == "refused PermissionError"
    assert outcomes["start"] == "refused PermissionError"
    assert outcomes["read"] == "done"
    assert {"no_core_dump", "no_file_growth", "few_files", "no_python_sockets"} <= set(held.split())
    if "read_only" in held.split():
        assert outcomes["create"].startswith("refused")
        assert outcomes["delete"].startswith("refused")
        assert list(tmp_path.iterdir()) == [kept]
        # The kernel's version of Landlock, whose third knows a right to cut files.
        if ctypes.CDLL(None).syscall(444, None, 0, 1) >= 3:
            assert outcomes["cut"].startswith("refused")
            assert kept.read_text() == "as it was"
    assert kept.exists() == outcomes["delete"].startswith("refused")


# With a namespace, and where none is to be had: as in many containers.
@pytest.mark.parametrize("namespaces", ["", "jail._CLONE_NEWNET = jail._CLONE_NEWUSER = -1\n"])
def test_libraries_have_no_network(namespaces: str):
    """No audit hook of Python's sees what a library asks the kernel for."""
    program = (
        "import ctypes, errno, socket, sys\nfrom ingestion.parsers.sandbox import limits as jail\n"
        f"{namespaces}held = jail.enter_sandbox()\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "families = socket.AF_INET, socket.AF_INET6, socket.AF_UNIX\n"
        "made = [libc.socket(family, socket.SOCK_STREAM, 0) for family in families]\n"
        "print('no_sockets' in held, 'no_network' in held, *made, errno.errorcode[ctypes.get_errno()])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    filtered, apart, *rest = run.stdout.split()
    assert not namespaces or apart == "False"
    if sys.platform == "linux" and platform.machine() in {"x86_64", "aarch64"}:
        assert filtered == "True"
    if filtered == "True":
        assert rest == ["-1", "-1", "-1", "EPERM"]
