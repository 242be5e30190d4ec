"""Documents of Feishu that only those read whom their source admits."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fixtures.http.client import Api
from tests.fixtures.knowledge.knowledge_sources import Source, allowed_targets
from tests.fixtures.knowledge.source_audience import names_for, sees, settle, verified
from tests.fixtures.product.server import Server
from tests.fixtures.wikis.feishu_server import APP_ID, FOLDER, SPACE, FeishuServer, text
from tests.fixtures.wikis.rest_server import serving

NOBODY: set[str] = set()
OTTER, BIRDS, HERON, OWL = "The otter.md", "Birds.md", "The heron.md", "The owl.md"


@pytest.fixture
def feishu(embedded: Server) -> Iterator[FeishuServer]:
    """A page (wikcn1), and one (wikcn2) with two below it (wikcn3, wikcn4)."""
    with serving(FeishuServer()) as service, allowed_targets(embedded, service.port):
        service.add("The otter", {"block_type": 2, "text": text("The okapi has a cave; the otter sleeps at midnight.")})
        birds = service.add("Birds", {"block_type": 2, "text": text("Birds fly.")})
        service.add("The heron", {"block_type": 2, "text": text("Herons eat frogs.")}, parent=birds)
        service.add("The owl", {"block_type": 2, "text": text("Owls eat mice.")}, parent=birds)
        yield service


class FeishuReaders:
    """Two readers of a knowledge base that is kept in step with Feishu."""

    def __init__(self, server: Server, feishu: FeishuServer) -> None:
        self.owner, self.ann, self.bob = server.person(), server.person(), server.person()
        for person in (self.ann, self.bob):
            verified(server, person)
        self.feishu = feishu

    def add_source(self, **settings: Any) -> Source:
        settings = {"url": self.feishu.url(), "space_id": SPACE, **settings}
        credentials = {"app_id": APP_ID, "app_secret": self.feishu.secret}
        source = Source(self.owner, self.owner.create_kb(), "feishu", settings, credentials=credentials)
        shares = [{"username": person.name, "access": "read"} for person in (self.ann, self.bob)]
        self.owner.put(f"/knowledge-bases/{source.kb_id}/shares", {"shares": shares})
        return source


@pytest.fixture
def readers(embedded: Server, feishu: FeishuServer) -> FeishuReaders:
    return FeishuReaders(embedded, feishu)


def openid(person: Api) -> str:
    return f"openid:{person.name}"


def test_collaborators_read_a_page_and_those_below_it_unless_it_is_locked(readers: FeishuReaders):
    feishu, ann, bob = readers.feishu, readers.ann, readers.bob
    feishu.share("wikcn1", openid(ann), "openchat:oc_keepers")
    feishu.share("wikcn2", openid(ann), f"{openid(bob)}!")
    feishu.share("wikcn3", "openid:somebody-else")
    feishu.share("wikcn4", openid(bob), locked=True)
    source = readers.add_source()
    sync = source.wait()
    assert sync["counts"] == {"created": 4, "restricted": 4}
    assert (sync["failure"]["reason"], "oc_keepers (1)" in sync["failure"]["message"]) == ("groups_unmapped", True)
    settle(source)
    otter = source.documents()[OTTER]
    assert [sees(person, source, otter) for person in (ann, bob, readers.owner)] == [True, False, True]
    assert [names_for(person, source) for person in (ann, bob)] == [{OTTER, BIRDS, HERON}, {BIRDS, OWL}]
    source.update(groups={"oc_keepers": [f"{bob.name}@example.com"]})
    assert source.sync()["counts"] == {"unchanged": 4, "restricted": 1}
    assert sees(bob, source, otter)
    # Many people cost one look-up of fifty.
    assert feishu.asked("/users/batch") <= 8

    feishu.share("wikcn1", link="anyone_readable")
    feishu.secretive = {"wikcn3"}
    sync = source.sync()
    assert sync["counts"] == {"unchanged": 4, "opened": 1, "restricted": 1}
    assert sync["failure"]["reason"] == "permissions_unread"
    assert [names_for(person, source) for person in (ann, bob)] == [{OTTER, BIRDS}, {OTTER, BIRDS, OWL}]
    source.update(permissions="ignore")
    assert source.sync()["counts"] == {"unchanged": 4, "opened": 3}
    assert len(names_for(ann, source)) == 4


def test_members_of_a_space_and_of_the_organisation(readers: FeishuReaders):
    feishu, ann, bob = readers.feishu, readers.ann, readers.bob
    feishu.space_members = (openid(ann), "openid:somebody-else", "openid:another")
    feishu.share("wikcn1", "wikispaceid:wiki_space_member")
    # Only some of the members, and nobody tells which.
    feishu.share("wikcn2", "wikispaceid:wiki_space_editor")
    feishu.share("wikcn3", link="tenant_readable", locked=True)
    feishu.share("wikcn4", "wikispaceid:wiki_space_editor", "wikispaceid:wiki_space_viewer", locked=True)
    source = readers.add_source()
    message = source.wait()["failure"]["message"]
    assert "tenant (1)" in message
    assert "wiki_space_editor (1)" in message
    assert [names_for(person, source) for person in (ann, bob)] == [{OTTER, OWL}, NOBODY]
    # A public space is for everybody in the organisation.
    feishu.visibility = "public"
    assert "tenant (3)" in source.sync()["failure"]["message"]
    assert names_for(bob, source) == NOBODY
    source.update(groups={"tenant": ["everyone"]})
    source.sync()
    assert names_for(bob, source) == {OTTER, HERON, OWL}


def test_people_without_addresses_are_in_a_table(readers: FeishuReaders):
    feishu, ann, bob = readers.feishu, readers.ann, readers.bob
    feishu.hides_emails = True
    for number, person in enumerate((ann, bob), 1):
        token = feishu.add_file(f"File {number}", {"block_type": 2, "text": text("Contents")}, parent=FOLDER)
        feishu.share(token, openid(person))
    source = readers.add_source(space_id="", folder_token=FOLDER, people={ann.name: [f"{ann.name}@example.com"]})
    assert source.wait()["counts"] == {"created": 2, "restricted": 2}
    assert [names_for(person, source) for person in (ann, bob)] == [{"File 1.md"}, NOBODY]
