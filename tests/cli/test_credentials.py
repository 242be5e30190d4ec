"""The file of credentials under concurrent writers."""

import threading
from pathlib import Path

import pytest

from cli.client.credentials import CredentialStore, Login
from tests.cli.conftest import Agentex
from tests.fixtures.product.processes import wait_until
from tests.fixtures.servers.contract_server import API_KEY

URL = "http://127.0.0.1:8000"


def test_login_that_is_stored_while_a_server_is_remembered_is_kept(tmp_path: Path):
    path = tmp_path / "agentex" / "credentials.json"
    one, other = CredentialStore(path), CredentialStore(path)
    begun = threading.Event()

    def remember() -> None:
        begun.set()
        other.remember_server(URL)

    with one.lock():
        thread = threading.Thread(target=remember)
        thread.start()
        begun.wait(30)
        # It waits for the one that holds the file, which has not written yet.
        thread.join(0.3)
        assert thread.is_alive()
        one.save(URL, Login(username="a", access_token="t"))
    thread.join(60)
    wait_until(lambda: not thread.is_alive())
    assert (one.server, one.load(URL)) == (URL, Login(username="a", access_token="t"))


@pytest.mark.parametrize("place", ["credentials.json", "credentials.lock", ""])
@pytest.mark.parametrize("command", [("kb", "list"), ("doctor",), ("logout",), ("login", "--api-key-stdin")])
def test_file_that_can_not_be_used_is_named_and_nothing_is_thrown(
    stranger: Agentex, person: Path, place: str, command: tuple[str, ...]
):
    """A folder where the file should be, or a file where its folder should be."""
    if place:
        (person / place).mkdir(parents=True)
    else:
        person.parent.mkdir(parents=True, exist_ok=True)
        person.write_text("")
    said = stranger(*command, stdin=API_KEY)
    assert said.code != 0
    if place != "credentials.lock":
        assert str(person / "credentials.json") in said.err + said.out
