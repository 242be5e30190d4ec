"""Taking documents into hand: one, or with it small ones that wait beside it."""

from dataclasses import dataclass, replace

from core.db.unit_of_work import unit_of_work
from ingestion.context import WorkerContext
from kb_service.knowledge_bases import index_version
from kb_service.knowledge_bases.index_version import Generation
from kb_service.models import Document, KnowledgeBase
from kb_service.work_queue import leases
from kb_service.work_queue.batching import BatchPolicy, acquire_batch
from kb_service.work_queue.leases import Lease

# What takes about as long as one document of some pages: a bundle holds nobody up, and the
# encoder's batches are full.
_BATCH_POLICY = BatchPolicy(
    # Read in milliseconds, whatever is in them: none keeps the others waiting.
    media_types=("text/plain", "text/markdown"),
    documents=63,
    total_bytes=64 * 1024,
)


@dataclass(frozen=True)
class ClaimedDocument:
    """A document whose lease was just taken, and the settings that it is made with.

    Args:
        document: its row.
        making: the settings.
        account: who owns the knowledge base.
        is_untouched: nobody can have written points of it before.
    """

    document: Document
    making: Generation
    account: str
    is_untouched: bool = False

    @property
    def lease(self) -> Lease:
        """The lease on it."""
        return leases.lease_from_row(self.document)

    def again(self) -> "ClaimedDocument":
        """The same after work that was broken off."""
        return replace(self, is_untouched=False)


async def claim(
    context: WorkerContext, document_id: str, *, alone: bool = False
) -> list[ClaimedDocument]:
    """Take the lease on a document; none when another has it or there is nothing to do.

    Small documents of its knowledge base that wait for their first try come with it, to be worked
    on together. The number of the settings they are made with is noted on what is returned.

    Args:
        context: the worker's connections.
        document_id: which one.
        alone: leave the others where they are.
    """
    owner, seconds = context.owner, context.settings.lease_seconds
    async with unit_of_work(context.database) as work:
        document = await leases.acquire(work, document_id, owner=owner, seconds=seconds)
        if document is None:
            return []
        beside: list[Document] = []
        if not alone and document.attempt == 1:
            beside = await acquire_batch(
                work, document, _BATCH_POLICY, owner=owner, seconds=seconds
            )
        knowledge_base = await work.session.get_one(KnowledgeBase, document.knowledge_base_id)
    making = index_version.generation_to_build(knowledge_base, document.generation)
    account = knowledge_base.owner_id
    taken = [ClaimedDocument(document, making, account)]
    # They were in nobody's hand yet.
    taken += [
        ClaimedDocument(one, making, account, is_untouched=one.revision == 1) for one in beside
    ]
    for one in taken:
        one.document.generation = making.number
    return taken
