"""Which lists of readers a document gets while searches see another text of it than its source has."""

import pytest

from ingestion.connectors.base import Readers, SourceItem
from ingestion.connectors.permissions import PermissionSettings
from ingestion.source_sync.permissions import GroupNotice, ItemReaders, PermissionMap, TextState, reader_change

ANN, BOB = "email:ann@example.org", "email:bob@example.org"


class _Settings(PermissionSettings):
    @property
    def place(self) -> str:
        return ""


def item(readers: Readers | None) -> SourceItem:
    return SourceItem("key", "name.md", readers=readers)


def kept(**settings: object) -> PermissionMap:
    return PermissionMap(_Settings.model_validate(settings))


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (TextState.SHOWN, ItemReaders([[BOB]])),
        # Both lists count, and the earlier one falls with its text.
        (TextState.COMING, ItemReaders([[ANN], [BOB]], [[BOB]])),
        # Nobody knows when a text comes that could not be read.
        (TextState.UNREAD, ItemReaders([[ANN], [BOB]])),
    ],
)
def test_lists_of_an_earlier_text_count_until_it_is_gone(text: TextState, after: ItemReaders):
    assert reader_change(kept(), item(((BOB,),)), ItemReaders([[ANN]]), text).after == after


def test_what_waited_is_forgotten_when_permissions_change_back_or_are_not_known():
    before = ItemReaders([[ANN], [BOB]], [[BOB]])
    back = reader_change(kept(), item(((ANN,),)), before, TextState.UNREAD)
    assert (back.after, back.is_change, back.outcome) == (ItemReaders([[ANN], [BOB]]), True, None)
    assert reader_change(kept(), item(None), before, TextState.COMING).after == ItemReaders([[ANN], [BOB]])
    again = reader_change(kept(), item(((BOB,),)), before, TextState.COMING)
    assert not again.is_change
    assert reader_change(kept(permissions="ignore"), item(((ANN,),)), before).after == ItemReaders()


def test_groups_without_members_here_are_named_once_with_the_number_of_documents():
    notice = GroupNotice(kept(groups={"all": ["everyone"], "none": []}))
    notice.note(item((("group:staff", ANN), ("group:none",))))
    # Whoever is in the other group is in the list anyway.
    notice.note(item((("group:staff", "group:late"), ("group:all", "group:hidden"))))
    notice.note(item(None))
    assert notice.failure is not None
    assert "staff (2), late (1)." in f"{notice.failure.message}."
    assert GroupNotice(kept()).failure is None
    ignored = GroupNotice(kept(permissions="ignore"))
    ignored.note(item((("group:staff",),)))
    assert ignored.failure is None
