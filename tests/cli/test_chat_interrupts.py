"""Questions and approvals of an agent, answered at the terminal."""

import sys
from collections.abc import Iterator

import pytest

from cli.client.schemas import InterruptRecord
from cli.commands.chat.run import answer_all
from cli.ui.output import Output

CONFIRM = InterruptRecord(id="i1", reason="confirmation", message="Delete all?")
CONSENT = InterruptRecord(id="i2", reason="tool_call", message="Run send_mail?")
INPUT = InterruptRecord(id="i3", reason="input_required", message="Which address?")


@pytest.fixture
def output(monkeypatch: pytest.MonkeyPatch) -> Output:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    return Output(json_only=False, language="en")


def typing(*lines: str) -> Iterator[str]:
    return iter(lines)


@pytest.mark.parametrize(
    ("interrupt", "line", "payload"),
    [
        (CONFIRM, "yes", {"confirmed": True}),
        (CONFIRM, "是", {"confirmed": True}),
        (CONFIRM, "", {"confirmed": False}),
        (CONSENT, "Y", {"approved": True}),
        (CONSENT, "no", {"approved": False}),
        (CONSENT, "Ask Ann first", {"approved": False, "response": "Ask Ann first"}),
        (INPUT, "a@example.com", {"input": "a@example.com"}),
    ],
)
def test_line_becomes_the_answer(output: Output, interrupt, line, payload):
    lines = typing(line)
    (entry,) = answer_all(output, [interrupt], read=lambda _: next(lines)) or []

    assert entry == {"interruptId": interrupt.id, "status": "resolved", "payload": payload}


def test_every_question_is_asked(output: Output, capsys: pytest.CaptureFixture[str]):
    lines = typing("y", "a@example.com")
    entries = answer_all(output, [CONFIRM, INPUT], read=lambda _: next(lines)) or []

    assert [entry["interruptId"] for entry in entries] == ["i1", "i3"]
    assert "Delete all?" in capsys.readouterr().out


@pytest.mark.parametrize("leaving", [EOFError, KeyboardInterrupt])
def test_person_who_leaves_answers_nothing(output: Output, leaving: type[BaseException]):
    def read(prompt: str) -> str:
        raise leaving

    assert answer_all(output, [CONFIRM], read=read) is None


def test_nobody_is_asked_without_a_terminal(
    output: Output, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)

    assert answer_all(output, [CONFIRM]) is None
    assert "Delete all?" in capsys.readouterr().out
