"""Claims of waiting documents: one document, or a batch of small ones."""

from dataclasses import dataclass, replace

from core.db.unit_of_work import unit_of_work
from ingestion.context import WorkerContext
from ingestion.parsers.choice import ParserChoice, choice_of
from kb_service.knowledge_bases import index_version
from kb_service.knowledge_bases.index_version import Generation
from kb_service.models import Document, KnowledgeBase
from kb_service.work_queue import leases
from kb_service.work_queue.batching import BatchPolicy, acquire_batch
from kb_service.work_queue.leases import Lease

# A batch takes about as long as one document of some pages, and fills the encoder's batches.
BATCH_POLICY = BatchPolicy(
    # Parsed in milliseconds, whatever is in them.
    media_types=("text/plain", "text/markdown"),
    documents=63,
    total_bytes=64 * 1024,
)


@dataclass(frozen=True)
class ClaimedDocument:
    """A document whose lease was just acquired.

    ``parser`` is its knowledge base's choice. ``is_untouched``: no earlier attempt can have written points.
    """

    document: Document
    generation: Generation
    account: str
    parser: ParserChoice
    is_untouched: bool = False

    @property
    def lease(self) -> Lease:
        return leases.lease_from_row(self.document)

    def as_retried(self) -> "ClaimedDocument":
        """The document after an interrupted attempt."""
        return replace(self, is_untouched=False)


async def claim(
    context: WorkerContext, document_id: str, *, batch: BatchPolicy | None = BATCH_POLICY
) -> list[ClaimedDocument]:
    """Acquire the lease on a document, and in its first attempt on siblings that ``batch`` allows.

    Empty if the document does not wait.
    """
    owner, seconds = context.owner, context.settings.lease_seconds
    async with unit_of_work(context.database) as work:
        acquired = await leases.acquire(work, [document_id], owner=owner, seconds=seconds)
        if not acquired:
            return []
        document = acquired[0]
        beside: list[Document] = []
        if batch and document.attempt == 1:
            beside = await acquire_batch(work, document, batch, owner=owner, seconds=seconds)
        knowledge_base = await work.session.get_one(KnowledgeBase, document.knowledge_base_id)
    generation = index_version.generation_to_build(knowledge_base, document.generation)
    account, parser = knowledge_base.owner_id, choice_of(knowledge_base)
    claimed = [ClaimedDocument(document, generation, account, parser)]
    # No worker has held the others before.
    claimed += [
        ClaimedDocument(other, generation, account, parser, is_untouched=other.revision == 1) for other in beside
    ]
    for each in claimed:
        each.document.generation = generation.number
    return claimed
