"""Jobs that documents enqueue.

Processing is not among them: waiting documents are found in SQL, and workers are only woken.
"""

from core.db.unit_of_work import UnitOfWork
from kb_service.models import Document

# Enqueued by versions with one job per document; leftover jobs only wake a worker.
INGEST_JOB = "document.ingest"
ERASE_JOB = "document.erase"
CLEAR_JOB = "document.clear"


def clear_key(document_id: str, revision: int) -> str:
    """Queue key of the job that removes a cancelled revision from the index."""
    return f"{CLEAR_JOB}:{document_id}:{revision}"


def enqueue_clear(work: UnitOfWork, document: Document) -> None:
    """Enqueue the removal of a cancelled document's points from the index."""
    payload = {"document_id": document.id}
    work.enqueue(CLEAR_JOB, payload, key=clear_key(document.id, document.revision))


def erase_key(document_id: str) -> str:
    """Queue key of a document's erasure."""
    return f"{ERASE_JOB}:{document_id}"


def enqueue_erase(work: UnitOfWork, document_id: str) -> None:
    """Enqueue the erasure of a deleted document."""
    work.enqueue(ERASE_JOB, {"document_id": document_id}, key=erase_key(document_id))
