"""The oracle of the fault tests: each thing that it checks, broken once by hand."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from core.db.types import new_id
from tests.fixtures.http.client import eventually
from tests.fixtures.product.oracle import Allowed, check_sound, memory
from tests.fixtures.product.server import Server

pytestmark = pytest.mark.timeout(300)
SHORT = 2
Broken = Callable[[Server, str], Iterator[None]]


@contextmanager
def missing_vector(server: Server, document_id: str) -> Iterator[None]:
    server.index(lambda index: index.delete_documents([document_id]))
    yield


@contextmanager
def doubled_rows(server: Server, document_id: str) -> Iterator[None]:
    """Rows of a revision that nothing shows."""
    server.sql(
        "INSERT INTO chunk (id, document_id, knowledge_base_id, revision, position, content, "
        "heading_path, char_start, char_end, token_count, enabled, version) "
        "SELECT id || 'x', document_id, knowledge_base_id, 77, position, content, heading_path, "
        "char_start, char_end, token_count, enabled, version FROM chunk WHERE document_id = :id",
        id=document_id,
    )
    yield


@contextmanager
def waiting_document(server: Server, document_id: str) -> Iterator[None]:
    """A row that nobody will ever take: its knowledge base is paused."""
    paused = (
        "UPDATE knowledge_base SET paused = :paused WHERE id = (SELECT knowledge_base_id FROM document WHERE id = :id)"
    )
    status = "UPDATE document SET status = :status WHERE id = :id"
    server.sql(paused, paused=True, id=document_id)
    server.sql(status, status="pending", id=document_id)
    yield
    server.sql(status, status="completed", id=document_id)
    server.sql(paused, paused=False, id=document_id)


@contextmanager
def missing_file(server: Server, document_id: str) -> Iterator[None]:
    (row,) = server.sql("SELECT storage_key FROM document WHERE id = :id", id=document_id)
    key = row["storage_key"]
    (server.settings.data_dir / "files" / key[:2] / key).unlink()
    yield


@contextmanager
def strange_file(server: Server, _document_id: str) -> Iterator[None]:
    key = new_id()
    path = server.settings.data_dir / "files" / key[:2] / key
    path.parent.mkdir(exist_ok=True)
    path.touch()
    yield
    path.unlink()


@contextmanager
def logged_exception(server: Server, _document_id: str) -> Iterator[None]:
    with (server.settings.data_dir / "logs" / "worker.log").open("a") as log:
        log.write('{"event": "document.crashed", "level": "error", "exception": "..."}\n')
    yield


@contextmanager
def stopped_worker(server: Server, _document_id: str) -> Iterator[None]:
    os.kill(server.parts["worker"]["pid"], signal.SIGSTOP)
    # Its last sign of life must fade first.
    eventually(lambda: not server.is_ready(), seconds=40)
    yield
    os.kill(server.parts["worker"]["pid"], signal.SIGCONT)
    server.wait_ready()


@pytest.mark.parametrize(
    ("broken", "finding"),
    [
        (missing_vector, "rows and 0 points"),
        (doubled_rows, "is shown nowhere"),
        (waiting_document, "document waiting"),
        (missing_file, "no file of the row's key"),
        (strange_file, "files that no row knows"),
        (logged_exception, "worker.log"),
        (stopped_worker, "not ready"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_oracle_finds(installation: Server, broken: Broken, finding: str):
    caller = installation.person()
    kb_id = caller.create_kb()
    document_id = caller.ingest(kb_id, "a.md", "# A\n\nAn animal sleeps.")
    check_sound(installation)
    with broken(installation, document_id), pytest.raises(AssertionError, match=finding):
        check_sound(installation, seconds=SHORT)
    caller.delete(f"/knowledge-bases/{kb_id}")
    if broken is logged_exception:
        (installation.settings.data_dir / "logs" / "worker.log").write_bytes(b"")


def test_oracle_finds_too_much_memory(installation: Server):
    with pytest.raises(AssertionError, match="all processes hold"):
        check_sound(installation, seconds=0, allowed=Allowed(memory=memory(installation) // 2))
