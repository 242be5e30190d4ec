"""Knowledge bases that are kept in step with mailboxes."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from core.errors.requests import InvalidRequest, UrlNotAllowed
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.knowledge.knowledge_sources import Source, allowed_targets
from tests.fixtures.product.processes import free_port
from tests.fixtures.product.server import MAX_UPLOAD_BYTES, Server
from tests.fixtures.servers.imap_server import (
    PASSWORD,
    USERNAME,
    ImapServer,
    Script,
    imap_server,
    message,
    scripted_imap,
)

ACCOUNT = {"username": USERNAME, "password": PASSWORD}
ANIMALS = ("otter", "heron", "badger", "lynx")
MESSAGES = {animal: message(f"Re: The {animal}/说明", f"All about the {animal}.") for animal in ANIMALS}


def name_of(animal: str) -> str:
    return f"Re: The {animal}-说明.eml"


@pytest.fixture
def mail(embedded: Server) -> Iterator[ImapServer]:
    """A mailbox with messages on four animals, which the product may read."""
    with imap_server() as mail, allowed_targets(embedded, mail.port, mail.tls_port):
        mail.add(*MESSAGES.values())
        yield mail


@pytest.fixture
def writer(embedded: Server) -> Api:
    return embedded.person()


def make_source(writer: Api, port: int, credentials: dict[str, str] | None = ACCOUNT, **settings: Any) -> Source:
    place = {"host": "127.0.0.1", "port": port, "security": "plain", **settings}
    return Source(writer, writer.create_kb(), "imap", place, credentials=credentials)


def sessions(mail: ImapServer, start: int) -> list[str]:
    """What Dovecot says of the product's ended sessions since a place in its log."""
    return [line for line in mail.log[start:].splitlines() if "Disconnected" in line and "body_count" in line]


def test_knowledge_base_equals_the_mailbox_after_each_change(writer: Api, mail: ImapServer):
    mail.make_folder("Projects")
    mail.make_folder("Projects/Secret")
    mail.add(message("Hidden", "Not for the knowledge base."), folder="Projects/Secret")
    source = make_source(writer, mail.port, include=["INBOX", "Proj*"], exclude=["*/Secret"])
    sync = source.wait()
    assert (sync["status"], sync["counts"]) == ("completed", {"created": 4}), sync
    assert source.contents() == {name_of(animal): text.decode() for animal, text in MESSAGES.items()}
    first = source.documents()
    assert first[name_of("otter")]["metadata"] == {
        "folder": "INBOX",
        "from": "Heron 鹭 <heron@example.org>",
        "date": "2026-03-01T12:00:00+00:00",
    }
    assert not any("Seen" in row for row in mail.flags())

    eventually(lambda: "body_count=4" in mail.log, what="the first session ends")
    start = len(mail.log)
    assert source.sync()["counts"] == {"unchanged": 4}
    (session,) = eventually(lambda: sessions(mail, start), what="the session ends")
    assert "hdr_count=0" in session
    assert "body_count=0" in session

    mail.delete("badger")
    # Marked as deleted, and still there for those who look.
    mail.delete("lynx", expunge=False)
    mail.move("heron", "Projects")
    mail.add(message("The marten", "It eats berries."))
    assert source.sync()["counts"] == {"unchanged": 1, "renamed": 1, "created": 1, "deleted": 2}
    after = source.documents()
    assert set(after) == {name_of("otter"), name_of("heron"), "The marten.eml"}
    moved = after[name_of("heron")]
    assert (moved["id"], moved["revision"]) == (first[name_of("heron")]["id"], 1)
    assert moved["metadata"]["folder"] == "Projects"


def test_mailbox_with_new_uids_keeps_its_documents(writer: Api, mail: ImapServer):
    source = make_source(writer, mail.port)
    source.wait()
    first = source.documents()
    keys = {row["key"] for row in writer.get(f"{source.path}/items")["items"]}
    mail.forget_uids()
    assert source.sync()["counts"] == {"renamed": 4}
    assert not keys & {row["key"] for row in writer.get(f"{source.path}/items")["items"]}
    after = source.documents()
    assert {name: (row["id"], row["revision"]) for name, row in after.items()} == {
        name: (row["id"], 1) for name, row in first.items()
    }
    assert source.sync()["counts"] == {"unchanged": 4}


def test_files_in_messages_become_documents(writer: Api, mail: ImapServer):
    files = (
        ("Stück 清单.md", b"# Stoats\n\nThey eat mice."),
        ("program.exe", b"MZ\x00"),
        ("large.txt", b"a b " * 2**20),
    )
    mail.add(message("Lists", "See the files.", *files))
    mail.add(message("Notes", "See the note.", ("note.txt", b"The weasel eats voles. " * 9)))
    source = make_source(writer, mail.port)
    # With its attachments the first message itself is too large.
    assert source.wait()["counts"] == {"created": 5, "failed": 1}
    source.update(attachments=True)
    assert source.sync()["counts"] == {"unchanged": 5, "created": 2, "failed": 2}
    texts = source.contents()
    assert texts["Lists › Stück 清单.md"] == "# Stoats\n\nThey eat mice."
    assert texts["Notes › note.txt"] == "The weasel eats voles. " * 9
    assert sorted(source.failures().values()) == ["too_large", "too_large"]
    mail.add(message("More", "See another note.", ("more.md", b"The marten eats berries.")))
    assert source.sync()["counts"] == {"unchanged": 7, "created": 2, "failed": 2}
    mail.delete("Lists")
    assert source.sync()["counts"] == {"unchanged": 8, "deleted": 1}
    source.update(attachments=False)
    assert source.sync()["counts"] == {"unchanged": 6, "deleted": 2}


def test_only_the_newest_messages_are_read(writer: Api, mail: ImapServer):
    mail.add(message("Long ago", "Old."), when=datetime(2020, 5, 5, tzinfo=UTC))
    source = make_source(writer, mail.port, since="2021-01-01", max_messages=2)
    sync = source.wait()
    assert (sync["counts"], sync["is_cut"]) == ({"created": 2}, True)
    assert set(source.documents()) == {name_of("badger"), name_of("lynx")}
    source.update(max_messages=4)
    sync = source.sync()
    assert (sync["counts"], sync["is_cut"]) == ({"unchanged": 2, "created": 2}, False)
    source.update(since="2020-05-05", max_messages=5)
    assert source.sync()["counts"] == {"unchanged": 4, "created": 1}


def test_source_that_is_away_deletes_nothing(embedded: Server, writer: Api, mail: ImapServer):
    source = make_source(writer, mail.port)
    source.wait()

    def reason(**settings: Any) -> str:
        source.body["credentials"] = ACCOUNT
        source.update(**settings)
        sync = source.sync()
        assert sync["status"] == "failed", sync
        assert PASSWORD not in str(sync)
        assert sync["failure"]["next_action"]
        assert sync["failure"]["next_action_zh"]
        return sync["failure"]["reason"]

    assert reason(include=["Nowhere"]) == "no_folder"
    assert "INBOX" in source.wait()["failure"]["next_action"]
    source.update(include=["INBOX"])
    # A certificate that nobody signed whom the product trusts.
    assert reason(security="starttls") == "untrusted_certificate"
    assert reason(security="tls", port=mail.tls_port) == "untrusted_certificate"
    assert reason(security="tls", port=mail.port) == "no_tls"
    port = free_port()
    with allowed_targets(embedded, port, mail.port):
        assert reason(port=port, security="plain") == "no_answer"
        source.update(port=mail.port)
        mail.change_password("another")
        assert reason() == "wrong_credentials"
        source.body["credentials"] = None
        source.update()
        assert source.sync()["failure"]["reason"] == "no_credentials"
        source.body["credentials"] = ACCOUNT | {"password": "another"}
        source.update()
        assert source.sync()["counts"] == {"unchanged": 4}
    assert len(source.contents()) == 4
    everything = "".join(path.read_text(errors="replace") for path in embedded.log_files)
    assert PASSWORD not in everything


HEAD = b"Subject: The otter\r\nFrom: a@example.org\r\n\r\n"
BODY = b"Subject: The otter\r\n\r\nAll about it.\r\n"


def play(**answers: Sequence[bytes]) -> Script:
    """A server with one message in its inbox; ``answers`` are given instead, by a command's first words."""
    usual: dict[str, Sequence[bytes]] = {
        "CAPABILITY": [b"* CAPABILITY IMAP4rev1", b" OK"],
        "LOGIN": [b" OK"],
        "LIST": [b'* LIST () "/" INBOX', b" OK"],
        "EXAMINE": [b"* OK [UIDVALIDITY 7] fine", b" OK"],
        "UID SEARCH": [b"* SEARCH 1", b" OK"],
        "UID FETCH 1 (UID RFC822": [
            b"* 1 FETCH (UID 1 RFC822.SIZE 37 BODY[HEADER.FIELDS (SUBJECT FROM DATE)] {%d}\r\n%s)" % (len(HEAD), HEAD),
            b" OK",
        ],
        "UID FETCH 1 (UID BODY": [b"* 1 FETCH (UID 1 BODY[]<0> {%d}\r\n%s)" % (len(BODY), BODY), b" OK"],
    }
    names = {"search": "UID SEARCH", "head": "UID FETCH 1 (UID RFC822", "body": "UID FETCH 1 (UID BODY"}
    usual |= {names.get(name, name.upper()): lines for name, lines in answers.items()}

    def script(command: bytes) -> Sequence[bytes]:
        return next((lines for start, lines in usual.items() if command.startswith(start.encode())), [b" BAD what?"])

    return script


def test_servers_that_lie_are_bounded(embedded: Server, writer: Api):
    with scripted_imap() as server, allowed_targets(embedded, server.port):
        server.script = play()
        source = make_source(writer, server.port, {"username": "otter", "password": "secret"})
        assert source.wait()["counts"] == {"created": 1}, source.wait()

        def reason(**answers: Sequence[bytes]) -> str:
            server.script = play(**answers)
            sync = source.sync()
            assert sync["status"] == "failed", sync
            return sync["failure"]["reason"]

        assert reason(capability=[b"* CAPABILITY POP3", b" OK"]) == "not_imap"
        assert reason(capability=[b"* CAPABILITY IMAP4rev1 LOGINDISABLED", b" OK"]) == "no_passwords"
        assert reason(login=[b" NO [UNAVAILABLE] later"]) == "busy"
        assert reason(login=[b"* BYE too many"]) == "busy"
        assert reason(examine=[b" NO no rights"]) == "refused"
        assert reason(examine=[b" OK"]) == "not_imap"
        assert reason(search=[b"* SEARCH 1 x", b" OK"]) == "not_imap"
        assert reason(search=[b"* SEARCH 99999999999999999999 1", b" OK"]) == "not_imap"
        # Ten gigabytes that never come, and lists without end.
        assert reason(search=[b"* SEARCH {10000000000}"]) == "not_imap"
        assert reason(list=[b"* LIST " + b"(" * 1000, b" OK"]) == "not_imap"
        assert reason(search=[b"* SEARCH" + b" 1" * 2_200_000]) == "not_imap"
        assert reason(list=[b'* LIST () "/" A'] * 20_001) == "not_imap"
        assert reason(list=[b"* LIST " + b"()" * 200_001, b" OK"]) == "not_imap"
        assert reason(list=[b"OTHER OK"]) == "not_imap"
        server.greeting = b"HTTP/1.1 400 Bad Request"
        assert reason() == "not_imap"
        server.greeting = b"* BYE full"
        assert reason() == "busy"
        server.greeting = b"* OK ready"
        assert source.failures() == {}
        assert set(source.documents()) == {"The otter.eml"}
        _fails_alone(source, server)


def _fails_alone(source: Source, server: Any) -> None:
    """Another message, whose contents are not what they were said to be."""
    vast = b"a" * 2**20
    search, head = [b"* SEARCH 2 1", b" OK"], list(play()(b"UID FETCH 1 (UID RFC822"))
    second = [line.replace(b"UID 1 ", b"UID 2 ") for line in head]

    def answers(body: Sequence[bytes]) -> Script:
        rest = play(search=search)

        def script(command: bytes) -> Sequence[bytes]:
            if command.startswith(b"UID FETCH 2"):
                return second if b"RFC822" in command else body
            return rest(command)

        return script

    numbers = iter(range(0, 2**30, 2**20))

    class Endless(list[bytes]):
        def __iter__(self) -> Iterator[bytes]:
            offset = next(numbers)
            return iter((b"* 2 FETCH (UID 2 BODY[]<%d> {%d}\r\n%s)" % (offset, len(vast), vast), b" OK"))

    server.script = answers(Endless())
    assert source.sync()["counts"] == {"unchanged": 1, "failed": 1}
    assert list(source.failures().values()) == ["too_large"]
    assert next(numbers) <= MAX_UPLOAD_BYTES + 2**21
    server.script = answers([b" NO broken"])
    assert source.sync()["counts"] == {"unchanged": 1, "failed": 1}
    assert list(source.failures().values()) == ["refused"]
    # It was deleted a moment ago.
    server.script = answers([b" OK"])
    assert source.sync()["counts"] == {"unchanged": 1}


def test_wrong_settings_are_refused_by_name(writer: Api, mail: ImapServer):
    path = f"/knowledge-bases/{writer.create_kb()}/sources"

    def refused(error: type = InvalidRequest, credentials: Any = None, **settings: Any) -> dict[str, Any]:
        body = {"name": "wrong", "connector": "imap", "settings": settings, "credentials": credentials}
        return writer.refused(error, "POST", path, json=body)

    assert refused(host="a b")["field"] == "settings.host"
    assert refused(host="1.1.1.1", since="yesterday")["field"] == "settings.since"
    assert refused(host="1.1.1.1", security="plain")["field"] == "settings.security"
    assert refused(host="1.1.1.1", credentials={"username": "otter"})["field"] == "credentials.password"
    refused(UrlNotAllowed, host="127.0.0.1")
    refused(UrlNotAllowed, host="169.254.169.254")
    # The port of another service of mail.
    refused(UrlNotAllowed, host="1.1.1.1", port=25)

    # What was given for a safe way goes no other.
    source = make_source(writer, mail.tls_port, security="tls")
    source.body["settings"] |= {"security": "plain"}
    del source.body["credentials"]
    assert writer.refused(InvalidRequest, "PUT", source.path, json=source.body)["field"] == "credentials"
