"""First syncs whose worker dies or sleeps: the knowledge base and its index equal the source, whatever it is."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kb_service.vector_index.protocol import VectorIndex
from tests.fixtures.http.client import eventually
from tests.fixtures.knowledge.knowledge_sources import Source
from tests.fixtures.knowledge.source_places import PAGES, PLACES, SourcePlace, Surroundings
from tests.fixtures.product.server import Server
from tests.fixtures.servers.external_services import Postgres

# Every connector writes its items in the same way; what differs is how they are listed and read.
every_connector = pytest.mark.parametrize(
    "place", [pytest.param(name, marks=pytest.mark.soak) for name in PLACES], indirect=True
)


@pytest.fixture
def place(
    embedded: Server, tmp_path: Path, find_postgres: Callable[[], Postgres], request: pytest.FixtureRequest
) -> Iterator[SourcePlace]:
    with PLACES[request.param](Surroundings(embedded, tmp_path, find_postgres)) as place:
        yield place


@every_connector
def test_worker_that_is_killed_goes_on(embedded: Server, place: SourcePlace):
    source = begin_sync(embedded, place)
    embedded.kill("worker")
    assert source.wait()["counts"] == {"created": PAGES}
    assert sync_row(embedded, source)["attempt"] == 2
    assert_equal(embedded, source, place)


@every_connector
def test_worker_that_slept_beyond_its_lease_does_nothing_twice(embedded: Server, place: SourcePlace):
    with embedded.second_worker() as other:
        source = begin_sync(embedded, place)
        pid = int(sync_row(embedded, source)["lease_owner"].split(":")[1])
        assert pid in {other.pid, embedded.parts["worker"]["pid"]}
        with embedded.frozen(pid):
            eventually(lambda: sync_row(embedded, source)["attempt"] == 2, what="the other worker takes over")
        # Now both are at it.
        assert source.wait()["counts"] == {"created": PAGES}
        assert_equal(embedded, source, place)


def begin_sync(server: Server, place: SourcePlace) -> Source:
    """A source in the middle of its first sync."""
    owner = server.admin()
    source = Source(owner, owner.create_kb(), place.connector, place.settings, credentials=place.credentials)

    def is_begun() -> bool:
        return server.count("knowledge_source_item", source_id=source.row["id"]) > 2

    eventually(is_begun, what="some items", pause=0.01)
    return source


def sync_row(server: Server, source: Source) -> dict[str, Any]:
    query = "SELECT attempt, lease_owner FROM knowledge_source_sync WHERE source_id = :id ORDER BY created_at"
    return server.sql(query, id=source.row["id"])[0]


def assert_equal(server: Server, source: Source, place: SourcePlace) -> None:
    """The documents are those of the source, each once, and the index has the chunks of each and no others."""

    def open_documents() -> list[str]:
        return [name for name, row in source.documents().items() if row["status"] != "completed"]

    eventually(lambda: not open_documents(), seconds=120, what="all documents are searchable")
    expected, contents = place.expected, source.contents()
    assert {name: expected.get(name, "") in text for name, text in contents.items()} == dict.fromkeys(expected, True)
    chunks = {row["id"]: row["chunk_count"] for row in source.documents().values()}
    assert server.index(lambda index: count_points(index, source.kb_id, chunks)) == (sum(chunks.values()), chunks)
    assert all(chunks.values())
    assert source.sync()["counts"] == {"unchanged": PAGES}


async def count_points(index: VectorIndex, kb_id: str, document_ids: Iterable[str]) -> tuple[int, dict[str, int]]:
    """The points of a knowledge base, and of each of some documents."""
    return await index.count(kb_id=kb_id), {id_: await index.count(document_id=id_) for id_ in document_ids}
