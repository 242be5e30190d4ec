"""Mailboxes that are read with access tokens of OAuth 2.0."""

import gzip
import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from core.errors.requests import InvalidRequest, UrlNotAllowed
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.knowledge.knowledge_sources import Source, allowed_targets
from tests.fixtures.product.server import Server
from tests.fixtures.servers.imap_server import USERNAME, ImapServer, imap_server, message, scripted_imap
from tests.fixtures.servers.token_server import CLIENT_ID, TokenServer, token_server

ANIMALS = ("otter", "heron", "badger")


@pytest.fixture
def tokens(embedded: Server) -> Iterator[TokenServer]:
    """An application and a person's grant; none of its secrets is in any log in the end."""
    with token_server(USERNAME) as tokens:
        yield tokens
        everything = "".join(path.read_text(errors="replace") for path in embedded.log_files)
        assert [secret for secret in tokens.secrets if secret in everything] == []


@contextmanager
def mailbox(embedded: Server, tokens: TokenServer, mechanisms: str = "xoauth2 oauthbearer") -> Generator[ImapServer]:
    """A mailbox that takes the server's access tokens, and which the product may read."""
    with imap_server(tokens.introspection_url, mechanisms) as mail, allowed_targets(embedded, mail.port, tokens.port):
        mail.add(*(message(animal, f"All about the {animal}.") for animal in ANIMALS))
        yield mail


def application(tokens: TokenServer) -> dict[str, str]:
    return {"username": USERNAME, "client_id": CLIENT_ID, "client_secret": tokens.client_secret}


def person(tokens: TokenServer) -> dict[str, str]:
    return {**application(tokens), "refresh_token": tokens.refresh_token}


def make_source(writer: Api, port: int, tokens: TokenServer, credentials: dict[str, str], **settings: Any) -> Source:
    place = {"host": "127.0.0.1", "port": port, "security": "plain", "sign_in": "oauth", "token_url": tokens.url}
    return Source(writer, writer.create_kb(), "imap", {**place, **settings}, credentials=credentials)


def reason(sync: dict[str, Any], tokens: TokenServer) -> str:
    """Why a sync failed; it says what to do next in both languages, and holds no secret."""
    assert sync["status"] == "failed", sync
    assert sync["failure"]["next_action"]
    assert sync["failure"]["next_action_zh"]
    assert [secret for secret in tokens.secrets if secret in json.dumps(sync)] == []
    return sync["failure"]["reason"]


def test_application_reads_a_mailbox_with_its_own_token(embedded: Server, tokens: TokenServer):
    writer = embedded.person()
    with mailbox(embedded, tokens) as mail:
        source = make_source(writer, mail.port, tokens, application(tokens), scope="https://example.org/.default")
        assert source.wait()["counts"] == {"created": 3}
        assert source.row["credentials_set"] == ["client_id", "client_secret", "username"]
        assert source.sync()["counts"] == {"unchanged": 3}
        assert "method=OAUTHBEARER" in mail.log
        # A token each sync, and no more.
        (first, second) = tokens.requests
        assert first == second
        assert (first["grant_type"], first["scope"]) == ("client_credentials", "https://example.org/.default")

        # The account is not the one that the token is for.
        source.body["credentials"] = application(tokens) | {"username": "heron"}
        source.update()
        assert reason(source.sync(), tokens) == "token_refused"
        source.body["credentials"] = application(tokens) | {"client_secret": "old"}
        source.update()
        sync = source.sync()
        assert reason(sync, tokens) == "wrong_client"
        # Microsoft's number, and nothing else of what the provider says.
        assert "AADSTS7000222" in sync["failure"]["message_zh"]
        assert "expired)" not in sync["failure"]["message"]
        source.body["credentials"] = application(tokens)
        source.update()
        assert source.sync()["counts"] == {"unchanged": 3}
    assert source.sync()["failure"]["reason"] == "not_allowed"


def test_replaced_refresh_tokens_are_kept(embedded: Server, tokens: TokenServer):
    writer = embedded.person()
    # Microsoft knows this mechanism only.
    with mailbox(embedded, tokens, "xoauth2") as mail:
        source = make_source(writer, mail.port, tokens, person(tokens))
        assert source.wait()["counts"] == {"created": 3}
        assert "method=XOAUTH2" in mail.log
        for _ in range(2):
            assert source.sync()["counts"] == {"unchanged": 3}
        assert source.sync(preview=True)["counts"] == {"unchanged": 3}
        # A provider that keeps to the old one says nothing of it.
        tokens.is_rotating = False
        assert source.sync()["counts"] == {"unchanged": 3}
        assert [form["refresh_token"] for form in tokens.requests] == [*tokens.used_tokens, tokens.refresh_token]
        stored = embedded.sql("SELECT sealed_credentials FROM knowledge_source WHERE id = :id", id=source.row["id"])
        assert [secret for secret in tokens.secrets if secret in json.dumps(stored, default=str)] == []

        tokens.is_revoked = True
        assert reason(source.sync(), tokens) == "credentials_revoked"
        assert len(source.contents()) == 3
        tokens.is_revoked, tokens.refresh_token = False, "another-refresh-token"
        source.body["credentials"] = person(tokens)
        source.update()
        assert source.sync()["counts"] == {"unchanged": 3}


def test_token_that_ends_during_a_sync_is_replaced(embedded: Server, tokens: TokenServer):
    writer = embedded.person()
    tokens.life = 0.5
    with mailbox(embedded, tokens) as mail:
        mail.add(*(message(f"Note {number}", f"Note {number} on otters.") for number in range(40)))
        source = make_source(writer, mail.port, tokens, person(tokens))
        assert source.wait()["counts"] == {"created": 43}
        assert len(tokens.requests) > 1
        assert tokens.used_tokens == [form["refresh_token"] for form in tokens.requests]


@pytest.mark.soak
def test_workers_use_a_refresh_token_one_after_the_other(embedded: Server, tokens: TokenServer):
    writer = embedded.person()
    tokens.pause = 2
    with mailbox(embedded, tokens) as mail, embedded.second_worker():
        source = make_source(writer, mail.port, tokens, person(tokens))
        eventually(lambda: tokens.requests, what="a worker has sent the refresh token", pause=0.01)
        query = "SELECT attempt, lease_owner FROM knowledge_source_sync WHERE source_id = :id"
        row = embedded.sql(query, id=source.row["id"])[0]
        with embedded.frozen(int(row["lease_owner"].split(":")[1])):

            def is_taken_over() -> bool:
                return embedded.sql(query, id=source.row["id"])[0]["attempt"] == 2

            eventually(is_taken_over, what="the other worker takes over")
            # The answer is there, and its worker sleeps: who sends the old token now ends the grant.
            assert len(tokens.requests) == 1
        assert source.wait()["counts"] == {"created": 3}
    assert not tokens.is_revoked
    assert [form["refresh_token"] for form in tokens.requests] == tokens.used_tokens


def test_token_that_was_taken_back_is_replaced_once(embedded: Server, tokens: TokenServer):
    """A connection ends in the middle, and the next one needs another token."""
    writer = embedded.person()
    accepted: list[int] = []

    def script(command: bytes) -> Sequence[bytes]:
        head = b"Subject: Animals\r\nFrom: a@example.org\r\n\r\n"
        match command.split(b" ")[0]:
            case b"CAPABILITY":
                return [b"* CAPABILITY IMAP4rev1 AUTH=XOAUTH2", b" OK"]
            case b"AUTHENTICATE":
                accepted.append(len(tokens.access_tokens))
                # The first token is good for one connection.
                return [b"+ ", b" NO expired" if accepted == [1, 1] else b" OK"]
            case b"LIST":
                return [b'* LIST () "/" INBOX', b" OK"]
            case b"EXAMINE":
                return [b"* OK [UIDVALIDITY 7] fine", b" OK"]
            case _ if command.startswith(b"UID SEARCH"):
                return [b"* SEARCH 1 2", b" OK"]
            case _ if b"RFC822.SIZE" in command:
                text = b"* %d FETCH (UID %d RFC822.SIZE 37 BODY[HEADER.FIELDS (SUBJECT FROM DATE)] {%d}\r\n%s)"
                return [*(text % (uid, uid, len(head), head) for uid in (1, 2)), b" OK"]
            case _ if command.startswith(b"UID FETCH 1"):
                return [b"* BYE later"]
            case _ if command.startswith(b"UID FETCH 2"):
                return [b"* 2 FETCH (UID 2 BODY[]<0> {%d}\r\n%s)" % (len(head), head), b" OK"]
            case _:
                return []

    with scripted_imap() as mail, allowed_targets(embedded, mail.port, tokens.port):
        mail.script = script
        source = make_source(writer, mail.port, tokens, application(tokens))
        assert source.wait()["counts"] == {"created": 1, "failed": 1}
    assert accepted == [1, 1, 2]
    assert len(tokens.requests) == 2


def test_token_endpoints_that_lie_are_bounded(embedded: Server, tokens: TokenServer):
    writer = embedded.person()
    with ExitStack() as stack:
        mail = stack.enter_context(mailbox(embedded, tokens))
        tokens.answer = lambda: (200, {}, b"{}")
        source = make_source(writer, mail.port, tokens, person(tokens))

        def answered(content: bytes, status: int = 200, /, **headers: str) -> str:
            tokens.answer = lambda: (status, headers, content)
            return reason(source.sync(), tokens)

        def token(**fields: object) -> bytes:
            return json.dumps({"access_token": "token", "token_type": "Bearer", **fields}).encode()

        assert reason(source.wait(), tokens) == "no_tokens"
        assert answered(b"[1]") == "no_tokens"
        assert answered(b"<html>sign in</html>") == "no_tokens"
        # What would be a second command of the mailbox.
        assert answered(token(access_token="x\r\nA9 DELETE INBOX")) == "no_tokens"
        assert answered(token(refresh_token="x\x00y")) == "no_tokens"
        assert answered(token(expires_in=-1)) == "no_tokens"
        assert answered(token(extra="a" * 2**17)) == "no_tokens"
        assert answered(gzip.compress(token()), **{"Content-Encoding": "gzip"}) == "no_tokens"
        assert answered(b"", 302, Location="http://169.254.169.254/") == "no_tokens"
        assert answered(b"", 503) == "busy"
        assert answered(json.dumps({"error": {"secret": "otter"}}).encode(), 400) == "no_tokens"
        assert "otter" not in str(source.wait()["failure"])
        assert answered(b'{"error": "interaction_required"}', 400) == "no_tokens"
        assert "interaction_required" in source.wait()["failure"]["message"]
        # The refresh token is still the first one.
        tokens.answer = None
        assert source.sync()["counts"] == {"created": 3}


def test_wrong_sign_ins_are_refused_by_name(embedded: Server, tokens: TokenServer):
    writer = embedded.person()
    path = f"/knowledge-bases/{writer.create_kb()}/sources"
    app = application(tokens)

    def refused(error: type = InvalidRequest, credentials: Any = app, **settings: Any) -> dict[str, Any]:
        settings = {"host": "1.1.1.1", **settings}
        body = {"name": "wrong", "connector": "imap", "settings": settings, "credentials": credentials}
        return writer.refused(error, "POST", path, json=body)

    assert refused()["field"] == "credentials.password"
    assert refused(sign_in="microsoft")["field"] == "settings.tenant"
    assert refused(sign_in="microsoft", tenant="a/b")["field"] == "settings.tenant"
    assert refused(sign_in="google")["field"] == "credentials.refresh_token"
    assert refused(sign_in="google", credentials={"username": "a"})["field"] == "credentials.client_id"
    only_id = {"username": "a", "client_id": "b"}
    assert refused(sign_in="microsoft", tenant="t", credentials=only_id)["field"] == "credentials.client_secret"
    assert refused(sign_in="oauth", token_url="https://1.1.1.1/token?a=b")["field"] == "settings.token_url"
    assert refused(sign_in="oauth", token_url="http://1.1.1.1/token")["field"] == "settings.token_url"
    refused(UrlNotAllowed, sign_in="oauth")
    refused(UrlNotAllowed, sign_in="oauth", token_url="http://169.254.169.254/token")

    # The secrets of one provider go to no other.
    with mailbox(embedded, tokens) as mail:
        source = make_source(writer, mail.port, tokens, app)
        source.body["settings"] |= {"token_url": "https://1.1.1.1/token"}
        del source.body["credentials"]
        assert writer.refused(InvalidRequest, "PUT", source.path, json=source.body)["field"] == "credentials"
        source.body["settings"] |= {"sign_in": "password"}
        assert writer.refused(InvalidRequest, "PUT", source.path, json=source.body)["field"] == "credentials"
