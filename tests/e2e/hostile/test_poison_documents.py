"""Documents that exhaust or kill their parser, among good ones."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psutil
import pytest

from tests.fixtures.files.hostile_documents import TABLE, ok
from tests.fixtures.http.client import TERMINAL, Api, eventually
from tests.fixtures.product.server import Server, running_server

GOOD = 20
PARSE_SECONDS = 4
ATTEMPTS = 3
# Each takes far more of one thing than is allowed here, and nearly nothing of the others.
SLOW, LARGE, LAUGHS = "slow.md", "large.pdf", "laughs.docx"
LIMITS = {
    "AGENTEX_MAX_UPLOAD_BYTES": str(8 * 2**20),
    "AGENTEX_PARSE_TIMEOUT_SECONDS": str(PARSE_SECONDS),
    "AGENTEX_PARSE_MEMORY_BYTES": str(2**29),
    "AGENTEX_INGEST_ATTEMPTS": str(ATTEMPTS),
    "AGENTEX_LEASE_SECONDS": "2",
}
GOOD_TEXT = "# Note\n\nThe zebra of the herd sleeps at noon."


def slow() -> bytes:
    """A text that takes long to read."""
    return b"- item with *some* words\n\n" * 200_000


def good(number: int) -> tuple[str, bytes]:
    """A good document: each fourth is read by the same parser as the bomb."""
    if number % 4 == 0:
        return f"good {number}.docx", ok()
    return f"good {number}.md", f"# Note {number}\n\nThe zebra of herd {number} sleeps.".encode()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An installation that gives documents little."""
    with running_server(tmp_path_factory.mktemp("narrow"), variables=LIMITS) as server:
        yield server


@pytest.fixture
def user(server: Server) -> Api:
    return server.person()


@pytest.fixture
def kb(user: Api) -> str:
    return user.create_kb()


def rows(user: Api, kb: str) -> dict[str, dict[str, Any]]:
    """The documents by name."""
    items = user.get(f"/knowledge-bases/{kb}/documents", page_size=100)["items"]
    return {row["name"]: row for row in items}


def ended_documents(user: Api, kb: str) -> dict[str, dict[str, Any]]:
    """The documents by name, once each is completed or failed."""

    def all_ended() -> dict[str, dict[str, Any]] | None:
        found = rows(user, kb)
        return found if {row["status"] for row in found.values()} <= TERMINAL else None

    return eventually(all_ended, what="all end")


def worker(server: Server) -> tuple[int, int]:
    """The worker's process, and how often it was started again."""
    part = server.parts["worker"]
    return part["pid"], part["restarts"]


def check_good(user: Api, kb: str, found: dict[str, dict[str, Any]]) -> None:
    """All good documents are there, and found."""
    names = {good(number)[0] for number in range(GOOD)}
    assert {name for name, row in found.items() if row["status"] == "completed"} == names
    hits = user.search(kb, "zebra herd lighthouses", top_k=100, deduplicate=False)
    assert {hit["document_name"] for hit in hits} == names


def crash_parsers(server: Server) -> None:
    """A fault in the parser of each document that is being read."""
    for child in psutil.Process(server.parts["worker"]["pid"]).children():
        with suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGSEGV)


def test_poison_fails_alone_and_can_be_tried_again(server: Server, user: Api, kb: str):
    before = worker(server)
    poison = {
        SLOW: slow(),
        LARGE: TABLE["flatebomb.pdf"].make(),
        LAUGHS: TABLE["lol.docx"].make(),
    }
    ids: dict[str, str] = {}
    for number in range(GOOD):
        user.upload(kb, *good(number))
        if number % 5 == 2 and poison:
            name, content = poison.popitem()
            ids[name] = user.upload(kb, name, content)
    found = ended_documents(user, kb)
    assert {name: (found[name]["failure"]["reason"], found[name]["attempt"]) for name in ids} == {
        SLOW: ("parse_timeout", 2),
        LARGE: ("parse_memory", 1),
        LAUGHS: ("unsafe_xml", 1),
    }
    check_good(user, kb, found)
    for name in ids:
        assert (found[name]["searchable"], found[name]["chunk_count"]) == (False, 0)
        assert all(found[name]["failure"].values())

    path = f"/knowledge-bases/{kb}/documents"
    again = user.post(f"{path}/{ids[LARGE]}/retry")
    assert (again["status"], again["revision"], again["attempt"]) == ("pending", 2, 0)
    end = user.wait(kb, ids[LARGE])
    assert (end["status"], end["failure"]["reason"], end["attempt"]) == (
        "failed",
        "parse_memory",
        1,
    )
    # Other bytes of the same name are read.
    user.put_file(kb, SLOW, GOOD_TEXT)
    assert user.wait(kb, ids[SLOW])["status"] == "completed"
    assert worker(server) == before


def test_parser_that_crashes_is_tried_twice_and_the_worker_goes_on(server: Server, user: Api, kb: str):
    before = worker(server)
    document_id = user.upload(kb, SLOW, slow())
    for number in range(GOOD):
        user.upload(kb, *good(number))

    def good_ones_ended() -> bool:
        return all(row["status"] in TERMINAL for name, row in rows(user, kb).items() if name != SLOW)

    eventually(good_ones_ended, what="the good ones end")

    def crashed() -> dict[str, Any] | None:
        crash_parsers(server)
        row = user.document(kb, document_id)
        return row if row["status"] in TERMINAL else None

    row = eventually(crashed, what="the document fails", pause=0.2)
    assert (row["status"], row["failure"]["reason"], row["attempt"]) == (
        "failed",
        "parser_crashed",
        2,
    )
    check_good(user, kb, rows(user, kb))
    assert worker(server) == before
    # The parsers that were killed are started anew.
    user.put_file(kb, SLOW, GOOD_TEXT)
    assert user.wait(kb, document_id)["status"] == "completed"


def test_document_whose_worker_dies_is_set_aside(server: Server, user: Api, kb: str):
    document_id = user.upload(kb, SLOW, slow())
    for number in range(GOOD):
        user.upload(kb, *good(number))
    _, restarts = worker(server)
    for attempt in range(1, ATTEMPTS + 1):

        def in_hand() -> bool:
            row = user.document(kb, document_id)
            return (row["status"], row["attempt"]) == ("processing", attempt)  # noqa: B023

        eventually(in_hand, what=f"try {attempt}", pause=0.01)
        server.kill("worker")
    found = ended_documents(user, kb)
    end = found[SLOW]
    assert (end["status"], end["failure"]["reason"], end["attempt"]) == (
        "failed",
        "poison",
        ATTEMPTS,
    )
    check_good(user, kb, found)
    again = user.post(f"/knowledge-bases/{kb}/documents/{document_id}/retry")
    assert (again["status"], again["attempt"]) == ("pending", 0)
    user.put_file(kb, SLOW, GOOD_TEXT)
    assert user.wait(kb, document_id)["status"] == "completed"
    assert worker(server)[1] == restarts + ATTEMPTS
