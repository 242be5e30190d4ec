"""``agentex chat``: streamed words, sources, stopping, conversations."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Callable

import pytest

from tests.cli.conftest import Agentex
from tests.fixtures.servers.contract_server import Contract


def test_chat_prints_the_answer_and_its_sources(agentex: Agentex):
    said = agentex("chat", "What fixes it?")
    assert said.code == 0
    assert said.out == ("Use a mirror [1].\n\nSources\n[1] guide.pdf · p. 3 · Repairs\n    “Use a mirror.”\n")
    assert said.err == ""


def test_chat_sends_a_run_as_ag_ui_wants_it(agentex: Agentex, server: Contract):
    base_id = server.add_base("Docs")
    agentex("chat", "What?", "--kb", "Docs", "--thread", "t-1")
    (body,) = server.run_inputs
    assert body["threadId"] == "t-1"
    assert body["messages"][0]["role"] == "user"
    assert body["messages"][0]["content"] == "What?"
    assert body["forwardedProps"] == {
        "agent_type": "agentic_rag",
        "knowledge_base_ids": [base_id],
    }


def test_chat_names_the_agent_that_is_to_answer(agentex: Agentex, server: Contract):
    agentex("chat", "What?", "--agent", "plan_execute")
    assert server.run_inputs[0]["forwardedProps"]["agent_type"] == "plan_execute"


def test_chat_leaves_the_choice_to_the_server_when_no_knowledge_base_is_named(agentex: Agentex, server: Contract):
    agentex("chat", "What?")
    assert "knowledge_base_ids" not in server.run_inputs[0]["forwardedProps"]


def test_chat_prints_one_event_a_line_as_json(agentex: Agentex):
    said = agentex("chat", "What?", "--json")
    kinds = [json.loads(line)["type"] for line in said.out.splitlines()]
    assert kinds[0] == "RUN_STARTED"
    assert kinds[-1] == "RUN_FINISHED"
    assert kinds.count("TEXT_MESSAGE_CONTENT") == 2


def test_chat_takes_the_question_from_standard_input(agentex: Agentex, server: Contract):
    assert agentex("chat", stdin="from a pipe\n").code == 0
    assert server.run_inputs[0]["messages"][0]["content"] == "from a pipe\n"
    assert agentex("chat", stdin=" ").code == 2


def test_chat_writes_no_control_characters(agentex: Agentex, server: Contract):
    server.answer = ["red \x1b[31mtext"]
    assert "\x1b" not in agentex("chat", "What?").out


def test_a_failed_run_gives_exit_code_1_and_its_message(agentex: Agentex, server: Contract):
    server.run_error = True
    said = agentex("chat", "What?")
    assert said.code == 1
    assert "The language model failed" in said.out


def test_an_answer_that_breaks_off_gives_exit_code_3_and_keeps_what_was_said(agentex: Agentex, server: Contract):
    server.cut_off = True
    said = agentex("chat", "What?")
    assert said.code == 3
    assert said.out.startswith("Use a mirror [1].")
    assert "broke off" in said.err


def test_chat_renews_an_expired_token_before_the_run(stranger: Agentex, server: Contract):
    stranger("login", "--username", "a", "--password-stdin", stdin="Password123")
    server.expire()
    assert stranger("chat", "What?").code == 0
    assert len(server.run_inputs) == 1


@pytest.mark.parametrize("shape", [(), ("--json",)])
def test_ctrl_c_stops_the_run_on_the_server_and_keeps_the_answer(
    agentex: Agentex,
    server: Contract,
    process: Callable[..., subprocess.Popen[str]],
    shape: tuple[str, ...],
):
    server.answer = None
    child = process("chat", "What?", *shape)
    assert child.stdout is not None
    seen = ""
    while "half of it" not in seen:
        seen += child.stdout.read(1)
    child.send_signal(signal.SIGINT)
    rest, err = child.communicate(timeout=30)
    assert child.returncode == 130, err
    assert "Traceback" not in err
    assert server.stops == [server.run_inputs[0]["runId"]]
    if shape:
        last = json.loads((seen + rest).splitlines()[-1])
        assert last["outcome"] == {"type": "cancelled"}
    else:
        assert "(stopped)" in rest
        assert "guide.pdf" in rest


@pytest.mark.timeout(60)
def test_a_conversation_keeps_its_thread_until_a_new_one_is_begun(
    agentex: Agentex,
    server: Contract,
    process: Callable[..., subprocess.Popen[str]],
):
    here, there = pty.openpty()
    child = process("chat", stdin=there, stdout=there, stderr=there)
    os.close(there)
    seen = ""

    def read_past(text: str, start: int) -> int:
        """Read until the text stands after ``start``; gives where it ends."""
        nonlocal seen
        while text not in seen[start:]:
            seen += os.read(here, 4096).decode(errors="replace")
        return seen.index(text, start) + len(text)

    try:
        mark = read_past("you> ", 0)
        for count, line in (
            (1, "one"),
            (2, "two"),
            (2, "/new"),
            (3, "three"),
            (3, "/what"),
            (4, "/tool t {}"),
        ):
            os.write(here, f"{line}\n".encode())
            mark = read_past("you> ", read_past(line, mark))
            assert len(server.run_inputs) == count
        server.answer = None
        os.write(here, b"four\n")
        mark = read_past("half of it", read_past("four", mark))
        os.kill(child.pid, signal.SIGINT)
        mark = read_past("you> ", read_past("(stopped)", mark))
        os.write(here, b"/quit\n")
        read_past("agentex chat --thread", mark)
        assert child.wait(30) == 0
    finally:
        os.close(here)
    threads = [body["threadId"] for body in server.run_inputs]
    assert threads[0] == threads[1]
    assert threads[1] != threads[2]
    assert threads[2] == threads[3] == threads[4]
    assert "Unknown command" in seen
    assert len(server.stops) == 1
