"""Readers of documents by the permissions of their source."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.unit_of_work import UnitOfWork
from core.text.confusables import fold
from ingestion.connectors.base import ConnectorSettings, Readers, SourceItem
from ingestion.connectors.permissions import EVERYONE, ROLE, PermissionSettings
from ingestion.source_sync.tally import Outcome
from kb_service.documents import source_permissions
from kb_service.documents.source_readers import entry_of, role_ids
from kb_service.models import Document, ReaderKind

_LONGEST = 254
AppliedLevels = list[list[str]]
"""The lists that a document has, as an item's row keeps them."""


@dataclass(frozen=True)
class PermissionMap:
    """How a source's permissions become lists of readers.

    Args:
        settings: None for a connector that knows none.
        roles: ids by name of those that the settings name.
    """

    settings: PermissionSettings | None = None
    roles: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def is_kept(self) -> bool:
        return self.settings is not None and self.settings.keeps_permissions

    def levels(self, readers: Readers) -> AppliedLevels:
        """Lists for documents; one that admits everyone who reads the knowledge base is left out."""
        levels: AppliedLevels = []
        for identities in readers:
            entries = {entry for identity in identities for entry in self._entries(identity)}
            level = sorted(entries)
            if EVERYONE not in entries and level not in levels:
                levels.append(level)
        return levels

    def _entries(self, identity: str) -> Iterable[str]:
        settings = self.settings
        kind, _, name = identity.partition(":")
        if settings is None:
            return
        match kind:
            case "email":
                names: Sequence[str] = (name,)
            case "group":
                names = settings.groups.get(name, ())
            case _:
                # A single person is never everyone.
                names = [entry for entry in settings.people.get(name, ()) if entry != EVERYONE]
        for entry in names:
            if entry == EVERYONE:
                yield EVERYONE
            elif entry.startswith(ROLE):
                if role_id := self.roles.get(entry.removeprefix(ROLE)):
                    yield entry_of(ReaderKind.ROLE, role_id)
            elif len(address := fold(entry.strip())) <= _LONGEST:
                yield entry_of(ReaderKind.EMAIL, address)


def role_names(settings: PermissionSettings) -> set[str]:
    """The roles that settings name."""
    tables = (settings.groups, settings.people)
    entries = {entry for table in tables for row in table.values() for entry in row}
    return {entry.removeprefix(ROLE) for entry in entries if entry.startswith(ROLE)}


async def permission_map(session: AsyncSession, settings: ConnectorSettings) -> PermissionMap:
    """The map of a connector's settings."""
    if not isinstance(settings, PermissionSettings):
        return PermissionMap()
    return PermissionMap(settings, await role_ids(session, role_names(settings)))


@dataclass(frozen=True)
class ReaderChange:
    """What a document's readers become; ``levels`` None: the source says nothing of them any more."""

    levels: AppliedLevels | None
    before: AppliedLevels | None

    @property
    def is_change(self) -> bool:
        """Whether anything changes."""
        return self.levels != self.before

    @property
    def outcome(self) -> Outcome | None:
        """What it counts as: another list is a restriction, too."""
        if (self.levels or []) == (self.before or []):
            return None
        return "restricted" if self.levels else "opened"


def reader_change(
    permissions: PermissionMap,
    item: SourceItem,
    before: AppliedLevels | None,
    *,
    is_behind: bool = False,
) -> ReaderChange:
    """What an item's permissions change in its document.

    While searches see an earlier text of the document, nobody is admitted whom the permissions of that text kept out:
    the lists before count together with those of now, and the next sync drops them.

    Args:
        before: the lists that the last sync gave it; None for a new item.
        is_behind: the text that searches see need not be the item's.
    """
    if not permissions.is_kept:
        return ReaderChange(None, before)
    if item.readers is None:
        # What is closed stays so: whoever knew it once may know it again.
        return ReaderChange(before, before)
    levels = permissions.levels(item.readers)
    if before and is_behind:
        levels = [*before, *(level for level in levels if level not in before)]
    return ReaderChange(levels, before)


def is_behind(document: Document | None) -> bool:
    """Whether searches see an earlier text of a document."""
    return document is not None and document.active_revision not in {None, document.revision}


async def apply_change(
    work: UnitOfWork, change: ReaderChange, document: Document, source_id: str, *, is_new: bool = False
) -> Document:
    """Give a document its readers; raises as ``restrict_to_levels`` does."""
    if change.outcome is None:
        return document
    return await source_permissions.restrict_to_levels(
        work, document.knowledge_base_id, document.id, change.levels or [], source_id=source_id, is_new=is_new
    )
