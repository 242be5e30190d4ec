"""The jobs that documents set off: a try of the processing, and the erasure."""

from dataclasses import dataclass

from core.database.types import new_id
from core.database.unit_of_work import UnitOfWork
from kb_service.models import Document

INGEST_JOB = "document.ingest"
ERASE_JOB = "document.erase"
CLEAR_JOB = "document.clear"


@dataclass(frozen=True)
class Try:
    """A document's next try: ``attempt`` counts those of this revision that were begun before."""

    id: str
    revision: int
    attempt: int

    @classmethod
    def next_of(cls, document: Document) -> "Try":
        """The one that this row waits for."""
        return cls(document.id, document.revision, document.attempt)

    @property
    def key(self) -> str:
        """Its key in the queue."""
        return f"{INGEST_JOB}:{self.id}:{self.revision}:{self.attempt + 1}"


def enqueue_ingest(work: UnitOfWork, document: Try) -> None:
    """Put a document's next try into the outbox."""
    work.enqueue(INGEST_JOB, {"document_id": document.id}, key=document.key)


def enqueue_wake_up(work: UnitOfWork) -> None:
    """Let a worker look for documents that wait, without saying for which."""
    work.enqueue(INGEST_JOB, {}, key=f"{INGEST_JOB}:{new_id()}")


def clear_key(document_id: str, revision: int) -> str:
    """The queue's key of the removal of what a cancelled revision has left in the index."""
    return f"{CLEAR_JOB}:{document_id}:{revision}"


def enqueue_clear(work: UnitOfWork, document: Document) -> None:
    """Put the removal of what a cancelled document has left in the index into the outbox."""
    payload = {"document_id": document.id}
    work.enqueue(CLEAR_JOB, payload, key=clear_key(document.id, document.revision))


def erase_key(document_id: str) -> str:
    """The queue's key of a document's erasure."""
    return f"{ERASE_JOB}:{document_id}"


def enqueue_erase(work: UnitOfWork, document_id: str) -> None:
    """Put the erasure of a deleted document into the outbox."""
    work.enqueue(ERASE_JOB, {"document_id": document_id}, key=erase_key(document_id))
