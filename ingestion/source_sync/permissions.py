"""Readers of documents by the permissions of their source."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.unit_of_work import UnitOfWork
from core.text.confusables import fold
from ingestion.connectors.base import ConnectorSettings, Readers, ReadFailure, SourceItem
from ingestion.connectors.permissions import EVERYONE, GROUP, ROLE, PermissionSettings
from ingestion.source_sync.tally import Outcome
from kb_service.documents import source_permissions
from kb_service.documents.source_readers import entry_of, role_ids
from kb_service.models import Document, ReaderKind

_LONGEST = 254
_NAMED_GROUPS, _LONGEST_GROUP = 20, 80
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

    def unmapped_groups(self, readers: Readers) -> set[str]:
        """The groups that lists name and the settings don't, apart from lists that admit everyone anyway."""
        if self.settings is None or not self.settings.keeps_permissions:
            return set()
        table = self.settings.groups
        lists = [names for names in readers if not any(EVERYONE in self._entries(name) for name in names)]
        groups = {name.removeprefix(GROUP) for names in lists for name in names if name.startswith(GROUP)}
        return {group for group in groups if group not in table}

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


class GroupNotice:
    """Groups that the items of a sync name and the settings don't: nobody reads by them."""

    def __init__(self, permissions: PermissionMap) -> None:
        self._permissions = permissions
        self._items: Counter[str] = Counter()

    def note(self, item: SourceItem) -> None:
        """Note the groups of an item."""
        if item.readers:
            self._items.update(self._permissions.unmapped_groups(item.readers))

    @property
    def failure(self) -> ReadFailure | None:
        """What to tell the owner; None for nothing."""
        if not self._items:
            return None
        examples = [f"{name[:_LONGEST_GROUP]} ({count})" for name, count in self._items.most_common(_NAMED_GROUPS)]
        more = len(self._items) - len(examples)
        return ReadFailure(
            "groups_unmapped",
            "Nobody reads by these groups of the source, because the setting groups does not name them (documents in "
            f"brackets): {', '.join(examples)}{f', and {more} more' if more else ''}",
            f"以下来源群组不在 groups 设置中，因此没有人能凭它们阅读（括号内为文档数）：{'、'.join(examples)}"
            f"{f'，以及另外 {more} 个' if more else ''}",
            "Name them in groups: with addresses, role:NAME, or everyone for all who read the knowledge base; with an empty "
            "list if nobody here is in them",
            "请在 groups 中列出这些群组：填写邮箱地址、role:角色名，或 everyone（知识库的所有读者）；若没有成员在此，请填空列表",
        )


@dataclass(frozen=True)
class ItemReaders:
    """The lists of an item's document.

    Args:
        levels: those that count; None: the source says nothing of it.
        waiting: those that will count once searches see the item's text; None where these are the same.
    """

    levels: AppliedLevels | None = None
    waiting: AppliedLevels | None = None


@dataclass(frozen=True)
class ReaderChange:
    """What the readers of an item's document become."""

    after: ItemReaders
    before: ItemReaders

    @property
    def is_change(self) -> bool:
        """Whether anything changes."""
        return self.after != self.before

    @property
    def outcome(self) -> Outcome | None:
        """What it counts as: another list is a restriction, too."""
        if (self.after.levels or []) == (self.before.levels or []):
            return None
        return "restricted" if self.after.levels else "opened"


class TextState(StrEnum):
    """What of an item searches see."""

    SHOWN = "shown"
    COMING = "coming"
    """An earlier text, until that of the item is processed."""
    UNREAD = "unread"
    """A text that need not be the item's, which could not be read."""


def reader_change(
    permissions: PermissionMap, item: SourceItem, before: ItemReaders, text: TextState = TextState.SHOWN
) -> ReaderChange:
    """What an item's permissions change in its document.

    While searches see an earlier text of the document, nobody is admitted whom the permissions of that text kept out:
    the lists before count together with those of now, which wait until their text is there.

    Args:
        before: what the last sync gave it.
    """
    if not permissions.is_kept:
        return ReaderChange(ItemReaders(), before)
    if item.readers is None:
        # What is closed stays so: whoever knew it once may know it again.
        return ReaderChange(replace(before, waiting=None), before)
    levels = permissions.levels(item.readers)
    if text is TextState.SHOWN or not before.levels:
        return ReaderChange(ItemReaders(levels), before)
    both = [*before.levels, *(level for level in levels if level not in before.levels)]
    # Of a text that could not be read nobody knows when it comes.
    is_waiting = text is TextState.COMING and levels != both
    return ReaderChange(ItemReaders(both, levels if is_waiting else None), before)


def text_state(document: Document | None) -> TextState:
    """What searches see of a document that has its item's text."""
    is_earlier = document is not None and source_permissions.shows_earlier_text(document)
    return TextState.COMING if is_earlier else TextState.SHOWN


async def apply_change(
    work: UnitOfWork, change: ReaderChange, document: Document, source_id: str, *, is_new: bool = False
) -> Document:
    """Give a document its readers; raises as ``restrict_to_levels`` does."""
    if change.outcome is None:
        return document
    levels = change.after.levels or []
    return await source_permissions.restrict_to_levels(
        work, document.knowledge_base_id, document.id, levels, source_id=source_id, is_new=is_new
    )
