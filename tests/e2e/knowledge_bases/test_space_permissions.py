"""Pages of Confluence that only those read who may view their space."""

from collections.abc import Iterator

import pytest

from tests.fixtures.knowledge.knowledge_sources import allowed_targets
from tests.fixtures.knowledge.source_audience import Readers, names_for, sees, settle
from tests.fixtures.product.server import Server
from tests.fixtures.wikis.confluence_server import ConfluenceServer
from tests.fixtures.wikis.rest_server import Call, serving

PAGE, CHILD = "ZOO › The okapi.html", "ZOO › The cave.html"
NOBODY: set[str] = set()

both_editions = pytest.mark.parametrize("confluence", ["cloud", "data_center"], indirect=True)


@pytest.fixture
def confluence(embedded: Server, request: pytest.FixtureRequest) -> Iterator[ConfluenceServer]:
    """A page (500) with one below it (501)."""
    service = ConfluenceServer(is_cloud=getattr(request, "param", "cloud") == "cloud")
    with serving(service), allowed_targets(embedded, service.port):
        service.add("The okapi", "<p>The okapi sleeps at midnight in cave seven.</p>")
        service.add("The cave", "<p>Cave seven has okapi bones.</p>", parent="500")
        yield service


@pytest.fixture
def readers(embedded: Server, confluence: ConfluenceServer) -> Readers:
    return Readers(embedded, confluence)


@both_editions
def test_reader_must_be_admitted_by_the_space_and_by_its_page(readers: Readers):
    confluence, ann, bob = readers.confluence, readers.ann, readers.bob
    # As it was before permissions of spaces were read.
    source = readers.add_source(space_permissions="ignore")
    assert source.wait()["counts"] == {"created": 2}
    settle(source)
    confluence.limit_space("ZOO", readers.ann_email, "somebody-else@example.com", groups=("keepers",))
    confluence.limit_view("501", readers.bob_email)
    assert source.sync()["counts"] == {"unchanged": 2, "restricted": 1}
    page, child = (source.documents()[name] for name in (PAGE, CHILD))
    assert [names_for(person, source) for person in (ann, bob)] == [{PAGE}, {PAGE, CHILD}]

    source.update(space_permissions="keep")
    preview = source.sync(preview=True)
    assert (preview["counts"]["restricted"], preview["failure"]["reason"]) == (2, "groups_unmapped")
    sync = source.sync()
    assert sync["counts"] == {"unchanged": 2, "restricted": 2}
    assert [sees(ann, source, page), sees(bob, source, page)] == [True, False]
    assert [sees(person, source, child) for person in (ann, bob, readers.owner)] == [False, False, True]
    # Who may write there is nobody to ask about.
    assert "keepers (2)" in sync["failure"]["message"]
    assert "writers" not in sync["failure"]["message"]
    assert "keepers (2)" in sync["failure"]["message_zh"]

    source.update(groups={"keepers": [readers.bob_email]})
    sync = source.sync()
    assert (sync["counts"], sync["failure"]) == ({"unchanged": 2, "restricted": 2}, None)
    assert [sees(bob, source, row) for row in (page, child)] == [True, True]
    assert not sees(ann, source, child)
    # Of a group that is known to have nobody here nothing is said.
    source.update(groups={"keepers": []})
    assert source.sync()["failure"] is None
    source.update(groups={"keepers": ["everyone"]})
    assert source.sync()["counts"] == {"unchanged": 2, "restricted": 1, "opened": 1}
    assert [names_for(person, source) for person in (ann, bob)] == [{PAGE}, {PAGE, CHILD}]
    asked = confluence.asked("/permissions")
    source.sync()
    # One space has one list, however many pages.
    assert confluence.asked("/permissions") - asked <= (2 if confluence.is_cloud else 1)


@both_editions
def test_space_whose_permissions_cannot_be_read_is_for_the_owner_alone(readers: Readers):
    confluence = readers.confluence
    if confluence.is_cloud:
        confluence.secretive = {"ZOO"}
    else:
        # As before Data Center 9.1.
        confluence.has_space_permissions = False
    source = readers.add_source()
    sync = source.wait()
    assert (sync["counts"], sync["failure"]["reason"]) == ({"created": 2, "restricted": 2}, "permissions_unread")
    assert "the spaces ZOO" in sync["failure"]["message"]
    assert "space_permissions" in sync["failure"]["next_action"]
    assert (names_for(readers.ann, source), len(source.documents())) == (NOBODY, 2)
    # Nobody is named, and that tells nothing of who may view the pages that are there.
    confluence.secretive, confluence.has_space_permissions = set(), True
    confluence.limit_space("ZOO")
    assert source.sync()["failure"]["reason"] == "permissions_unread"
    assert names_for(readers.ann, source) == NOBODY
    source.update(space_permissions="ignore")
    assert source.sync()["counts"] == {"unchanged": 2, "opened": 2}
    assert names_for(readers.ann, source) == {PAGE, CHILD}


def test_classes_of_users_are_groups_and_hidden_people_have_ids(readers: Readers):
    confluence = readers.confluence
    confluence.limit_space("ZOO", "hidden-keeper@example.com", classes=("all-licensed-users",))
    # With a search, too, which is another list of the pages.
    source = readers.add_source(cql="lastmodified > 2020-01-01", people={"557058:hidden-keeper": [readers.bob_email]})
    sync = source.wait()
    assert "all-licensed-users (2)" in sync["failure"]["message"]
    assert [names_for(person, source) for person in (readers.ann, readers.bob)] == [NOBODY, {PAGE, CHILD}]
    source.update(groups={"all-licensed-users": ["everyone"]})
    assert source.sync()["counts"] == {"unchanged": 2, "opened": 2}
    # Whoever may be anonymous may be anybody.
    confluence.limit_space("ZOO", readers.bob_email, classes=("anonymous-users",))
    source.update(groups={})
    assert source.sync()["counts"] == {"unchanged": 2}
    assert names_for(readers.ann, source) == {PAGE, CHILD}


def test_document_deleted_by_hand_comes_again_with_the_next_sync_whenever_that_was(readers: Readers):
    confluence = readers.confluence
    confluence.add("The zebra", "<p>The zebra sleeps at noon.</p>")
    source = readers.add_source()
    source.wait()
    settle(source)
    path, rows = f"/knowledge-bases/{source.kb_id}/documents", source.documents()

    def delete_both(call: Call) -> None:
        """One of a page that the sync has met, and one of a page that comes yet."""
        if call.path.endswith("/pages") and "cursor" in call.query:
            confluence.on_call = lambda _: None
            for name in (PAGE, "ZOO › The zebra.html"):
                readers.owner.delete(f"{path}/{rows[name]['id']}")

    confluence.on_call = delete_both
    assert source.sync()["counts"] == {"unchanged": 3}
    assert {*source.documents()} == {CHILD}
    assert source.sync()["counts"] == {"created": 2, "unchanged": 1}
    readers.owner.delete(f"{path}/{rows[CHILD]['id']}")
    assert source.sync()["counts"] == {"created": 1, "unchanged": 2}
    assert len(source.documents()) == 3
