"""``agentex sessions`` against the real product."""

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from core.errors.auth import SessionNotFound
from tests.fixtures.http.client import Api
from tests.fixtures.product.cli_commands import Command, commands_of
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import ask


@pytest.fixture
def somebody(embedded: Server) -> Api:
    return embedded.person()


@pytest.fixture
def sessions(embedded: Server, somebody: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """Runs ``agentex sessions`` with the key of somebody."""
    with commands_of("sessions", embedded, somebody, tmp_path, monkeypatch) as run:
        yield run


def talked(user: Api, question: str, thread_id: str = "") -> str:
    thread_id = thread_id or str(uuid4())
    ask(user, question, thread_id=thread_id)
    return user.get("/sessions")["items"][0]["id"]


def test_sessions_are_listed_and_found(sessions: Command, somebody: Api):
    relay, backup = talked(somebody, "中继监听哪个端口？"), talked(somebody, "When is the backup?")
    lines = sessions("list").stdout.splitlines()
    assert [line.split("\t")[-1] for line in lines] == ["Id", backup, relay]
    found = sessions("search", "端口").stdout.splitlines()
    assert len(found) == 2
    assert found[1].split("\t")[-2:] == [relay, "中继监听哪个端口？"]
    assert sessions("search", "端口", "--lang", "zh").stdout.startswith("标题\t消息数\t")
    data = json.loads(sessions("search", "backup", "--json").stdout)
    assert [item["id"] for item in data["items"]] == [backup]
    assert json.loads(sessions("list", "--limit", "1", "--json").stdout)["total"] == 2


def test_session_is_shown(sessions: Command, somebody: Api):
    session_id = talked(somebody, "Who are you?\x1b[2J", "a/b c")
    shown = sessions("show", session_id).stdout

    assert shown.startswith("Who are you?")
    assert "\nYou · " in shown
    assert "\nAssistant · " in shown
    assert "\x1b" not in shown
    data = json.loads(sessions("show", session_id, "--limit", "1", "--json").stdout)
    assert (data["id"], len(data["messages"]["items"])) == (session_id, 1)


def test_session_is_exported_by_the_name_of_the_file(sessions: Command, somebody: Api):
    session_id = talked(somebody, "Who are you?")
    Path("talk.md.part").write_text("somebody else's")
    assert sessions("export", session_id, "talk.md").exit_code == 0
    assert sessions("export", session_id, "talk.json", "--json").exit_code == 0

    assert Path("talk.md").read_text().startswith("# Who are you?\n")
    assert json.loads(Path("talk.json").read_bytes())["session"]["id"] == session_id
    again = sessions("export", session_id, "talk.md")
    assert (again.exit_code, "--force" in again.stderr) == (2, True)
    forced = sessions("export", session_id, "talk.md", "--force", "--format", "json")
    assert forced.exit_code == 0
    assert json.loads(Path("talk.md").read_bytes())["format"] == "agentex-session"
    assert Path("talk.md.part").read_text() == "somebody else's"
    assert sorted(path.name for path in Path().iterdir() if path.is_file()) == [
        "talk.json",
        "talk.md",
        "talk.md.part",
    ]


def test_session_is_archived_and_taken_out_again(sessions: Command, somebody: Api):
    session_id = talked(somebody, "hello")
    assert f"agentex sessions archive {session_id} --undo" in sessions("archive", session_id).stdout
    assert session_id in sessions("list", "--archived").stdout
    assert session_id not in sessions("list", "--active").stdout
    assert json.loads(sessions("archive", session_id, "--undo", "--json").stdout)["is_archived"] is False
    assert session_id in sessions("list", "--active").stdout


def test_session_is_deleted_when_that_is_sure(sessions: Command, somebody: Api):
    session_id = talked(somebody, "hello")
    unsure = sessions("delete", session_id)
    assert (unsure.exit_code, "--yes" in unsure.stderr) == (2, True)
    assert "Deleted the session hello." in sessions("delete", session_id, "--yes").stdout
    somebody.refused(SessionNotFound, "GET", f"/sessions/{session_id}")
    assert sessions("delete", session_id, "--yes").exit_code == 5


def test_session_of_somebody_else_is_not_there(sessions: Command, embedded: Server):
    theirs = talked(embedded.person(), "hello")
    for words in (
        ("show", theirs),
        ("export", theirs, "x.md"),
        ("archive", theirs),
        ("delete", theirs, "-y"),
    ):
        refused = sessions(*words)
        assert refused.exit_code == 5
        assert refused.stderr == sessions(words[0], str(uuid4()), *words[2:]).stderr
    assert not Path("x.md").exists()
