"""The jobs that documents set off.

Processing is none of them: a document that waits is found in SQL, and workers are only woken.
"""

from core.db.unit_of_work import UnitOfWork
from kb_service.models import Document

# Written by versions that had a job for each document; what is left of theirs wakes a worker.
INGEST_JOB = "document.ingest"
ERASE_JOB = "document.erase"
CLEAR_JOB = "document.clear"


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
