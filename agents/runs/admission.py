"""The gate again, while a run goes on: what was taken back since it began is searched no more."""

from collections.abc import Sequence

from core.auth.authentication import principal_of_user
from core.auth.permissions import Permission
from core.db.database import Database
from core.errors import KnowledgeBaseNotFound
from kb_service.knowledge_bases import sharing
from kb_service.models import KnowledgeBase


async def still_admitted(
    database: Database, owner_id: str, rows: Sequence[KnowledgeBase]
) -> Sequence[KnowledgeBase]:
    """Those of a run's knowledge bases that its owner may search at this moment, as they are now.

    Args:
        database: where they are.
        owner_id: whose run it is.
        rows: those that the run began with.

    Raises:
        KnowledgeBaseNotFound: none is left.
        PermissionDenied: the owner may read none at all any more.
        AccountDisabled: the owner is switched off.
        InvalidToken: the owner is gone.
        DatabaseUnavailable: the database did not answer.
    """
    async with database.reading() as session:
        owner = await principal_of_user(session, owner_id)
        owner.require(Permission.KB_VIEW)
        present = await sharing.still_visible(session, owner, [row.id for row in rows])
    if not present:
        raise KnowledgeBaseNotFound
    return present
