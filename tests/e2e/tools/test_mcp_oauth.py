"""MCP connections authorised with OAuth over HTTP: a real authorization server, whose tokens end and are renewed."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from core.errors.auth import McpConnectionNotFound, PermissionDenied
from core.errors.conflicts import McpAuthorizationNotOpen, McpNotAuthorizable
from core.errors.requests import InvalidRequest
from core.errors.server import McpAuthorizationFailed, McpUnavailable
from tests.e2e.tools.test_mcp_connections import PATH, developer
from tests.fixtures.http.client import Api, check_success, eventually
from tests.fixtures.product.api_processes import ApiProcesses, same_caller
from tests.fixtures.product.server import Server
from tests.fixtures.servers.mcp_oauth_server import CANARY, CLIENT_ID, CLIENT_SECRET, McpOAuthServer

CALLBACK = "/mcp/oauth/callback"


@pytest.fixture
def user(llm_product: Server) -> Api:
    return developer(llm_product)


@pytest.fixture
def canary() -> Iterator[socket.socket]:
    """A port of this machine that nobody is allowed to connect to."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        listener.settimeout(0)
        yield listener


def connect(user: Api, url: str, **fields: Any) -> str:
    return user.post(PATH, {"name": "guarded", "type": "standard", "url": url, **fields})["id"]


def authorize(user: Api, connection_id: str, server: McpOAuthServer) -> dict[str, Any]:
    """Authorise a connection as a person does in a browser; the connection."""
    offer = user.post(f"{PATH}/{connection_id}/authorize")
    return user.post(CALLBACK, server.decide(offer["authorization_url"]))


def whisper_patiently(user: Api, connection_id: str, word: str) -> str:
    """The same, again where an authorization server on a busy machine answered too late."""

    def answer() -> httpx.Response | None:
        path = f"{PATH}/{connection_id}/tools/whisper/call"
        called = user.request("POST", path, json={"params": {"word": word}})
        return None if called.status_code == McpUnavailable.status else called

    return check_success(eventually(answer))["result"]["content"][0]["text"]


def whisper(user: Api, connection_id: str, word: str = "hello") -> str:
    called = user.post(f"{PATH}/{connection_id}/tools/whisper/call", {"params": {"word": word}})
    return called["result"]["content"][0]["text"]


def failed(user: Api, connection_id: str) -> dict[str, Any]:
    return user.refused(McpAuthorizationFailed, "POST", f"{PATH}/{connection_id}/authorize")


def test_connection_asks_to_be_authorised_and_works_afterwards(user: Api, oauth_mcp: McpOAuthServer):
    connection_id = connect(user, oauth_mcp.url)
    path = f"{PATH}/{connection_id}"
    tested = user.post(f"{path}/test")
    assert (tested["success"], tested["fault"]) == (False, "needs_authorization")
    row = user.get(path)
    assert (row["status"], row["auth_type"], row["authorization"]) == ("needs_authorization", "none", None)
    details = user.refused(McpUnavailable, "GET", f"{path}/tools")
    assert details["fault"] == "needs_authorization"

    offer = user.post(f"{path}/authorize")
    parameters = {name: values[0] for name, values in parse_qs(urlsplit(offer["authorization_url"]).query).items()}
    assert parameters["response_type"] == "code"
    assert parameters["code_challenge_method"] == "S256"
    assert parameters["resource"] == oauth_mcp.url
    assert parameters["redirect_uri"].endswith("/connections/callback")
    row = user.post(CALLBACK, oauth_mcp.decide(offer["authorization_url"]))
    assert (row["id"], row["status"], row["auth_type"]) == (connection_id, "connected", "oauth")
    assert row["authorization"]["issuer"] == f"{oauth_mcp.base}/"
    assert row["authorization"]["scope"] == "use"
    assert row["tool_count"] == 2
    assert whisper(user, connection_id) == "whispered hello"
    assert user.get(PATH)["items"] == [row]


def test_tokens_codes_and_secrets_are_sealed_and_never_shown_or_logged(
    llm_product: Server, user: Api, oauth_mcp: McpOAuthServer
):
    oauth_mcp.control(client_redirect=f"{llm_product.settings.browser_url}/connections/callback")
    connection_id = connect(user, oauth_mcp.url, client_id=CLIENT_ID, client_secret=CLIENT_SECRET)
    row = user.get(f"{PATH}/{connection_id}")
    assert (row["auth_type"], row["client_id"], row["has_client_secret"]) == ("oauth", CLIENT_ID, True)
    answer = oauth_mcp.decide(user.post(f"{PATH}/{connection_id}/authorize")["authorization_url"])
    shown = [str(user.post(CALLBACK, answer)), str(user.get(PATH))]
    assert whisper(user, connection_id)
    oauth_mcp.control("expire")
    assert whisper(user, connection_id)
    oauth_mcp.control("expire", token_status=500)
    user.post(f"{PATH}/{connection_id}/test")
    oauth_mcp.control("end", token_status=0)
    user.post(f"{PATH}/{connection_id}/test")
    tables = ("mcp_connection", "mcp_authorization", "mcp_authorization_attempt")
    stored = [str(llm_product.sql(f'SELECT * FROM "{table}"')) for table in tables]
    written = [path.read_text(errors="replace") for path in llm_product.log_files]
    for text in (*shown, *stored, *written, llm_product.output.read_text()):
        assert CANARY not in text
        assert CLIENT_SECRET not in text
        assert answer["state"] not in text
    assert oauth_mcp.counts["registrations"] == 0


def test_client_secret_goes_to_no_other_host_and_not_with_another_client(user: Api, oauth_mcp: McpOAuthServer):
    connection_id = connect(user, oauth_mcp.url, client_id=CLIENT_ID, client_secret=CLIENT_SECRET)
    path = f"{PATH}/{connection_id}"
    other = {"url": oauth_mcp.rogue_url("plain")}
    assert user.refused(InvalidRequest, "PUT", path, json=other)["field"] == "client_secret"
    assert user.refused(InvalidRequest, "PUT", path, json={"client_id": "b"})["field"] == "client_secret"
    assert user.refused(InvalidRequest, "PUT", path, json={"client_id": ""})["field"] == "client_secret"
    changed = user.put(path, {**other, "client_secret": ""})
    assert (changed["client_id"], changed["has_client_secret"]) == (CLIENT_ID, False)


def test_token_that_ends_soon_or_was_refused_is_renewed(user: Api, oauth_mcp: McpOAuthServer):
    connection_id = connect(user, oauth_mcp.url)
    oauth_mcp.control(access_seconds=30)
    authorize(user, connection_id, oauth_mcp)
    # Its end is near: it is renewed before it is used.
    before = oauth_mcp.control(access_seconds=3600)["renewals"]
    assert whisper(user, connection_id) == "whispered hello"
    assert oauth_mcp.counts["renewals"] <= before + 1
    # It was revoked before its end: the request is repeated with another one.
    before = oauth_mcp.control("expire")["renewals"]
    calls = oauth_mcp.counts["calls"]
    assert whisper(user, connection_id) == "whispered hello"
    assert (oauth_mcp.counts["renewals"], oauth_mcp.counts["calls"]) == (before + 1, calls + 1)
    assert oauth_mcp.counts["reuses"] == 0


def test_refresh_token_that_was_revoked_needs_an_authorization_again(user: Api, oauth_mcp: McpOAuthServer):
    connection_id = connect(user, oauth_mcp.url)
    path = f"{PATH}/{connection_id}"
    authorize(user, connection_id, oauth_mcp)
    oauth_mcp.control("end")
    call = f"{path}/tools/whisper/call"
    for _ in range(5):
        # However often: it is no failure of the server, which would be left alone then.
        details = user.refused(McpUnavailable, "POST", call, json={"params": {"word": "x"}})
        assert details["fault"] == "needs_authorization"
    row = user.get(path)
    assert (row["status"], row["authorization"], row["tool_count"]) == ("needs_authorization", None, 2)
    assert user.get(f"{path}/tools")["is_stale"] is True
    assert authorize(user, connection_id, oauth_mcp)["status"] == "connected"
    assert whisper(user, connection_id) == "whispered hello"


def test_token_without_a_refresh_token_is_used_until_it_is_refused(user: Api, oauth_mcp: McpOAuthServer):
    oauth_mcp.control(has_refresh_token=False, access_seconds=30)
    connection_id = connect(user, oauth_mcp.url)
    authorize(user, connection_id, oauth_mcp)
    assert whisper(user, connection_id) == "whispered hello"
    oauth_mcp.control("expire")
    user.post(f"{PATH}/{connection_id}/test")
    assert user.get(f"{PATH}/{connection_id}")["status"] == "needs_authorization"


def test_authorization_server_that_is_down_costs_no_authorization(user: Api, oauth_mcp: McpOAuthServer):
    connection_id = connect(user, oauth_mcp.url)
    path = f"{PATH}/{connection_id}"
    authorize(user, connection_id, oauth_mcp)
    oauth_mcp.control("expire", token_status=503)
    details = user.refused(McpUnavailable, "POST", f"{path}/tools/whisper/call", json={"params": {"word": "x"}})
    assert details["fault"] == "not_renewed"
    assert user.get(path)["authorization"] is not None
    oauth_mcp.control(token_status=0)
    assert whisper(user, connection_id) == "whispered hello"


def test_two_processes_renew_once_and_lose_no_token(standalone_apis: ApiProcesses, oauth_mcp: McpOAuthServer):
    listed = {"AGENTEX_ALLOWED_PRIVATE_TARGETS": oauth_mcp.targets}
    first, second = (standalone_apis.start(**listed) for _ in range(2))
    user = developer(first)
    callers = [user, same_caller(user, second)]
    connection_id = connect(user, oauth_mcp.url)
    authorize(user, connection_id, oauth_mcp)
    for caller in callers:
        assert whisper(caller, connection_id) == "whispered hello"
    for seconds in (0.5, 0):
        before = oauth_mcp.control("expire", renewal_seconds=seconds)["renewals"]
        with ThreadPoolExecutor(8) as threads:
            said = list(threads.map(lambda n: whisper_patiently(callers[n % 2], connection_id, str(n)), range(16)))
        assert said == [f"whispered {n}" for n in range(16)]
        counts = oauth_mcp.counts
        assert counts["reuses"] == 0
        # A machine that stands still for longer than a renewal may take lets another process begin one.
        assert before < counts["renewals"] <= before + 2
    for server in (first, second):
        standalone_apis.stop(server)


def test_state_is_for_one_person_one_connection_and_one_use(llm_product: Server, user: Api, oauth_mcp: McpOAuthServer):
    connection_id = connect(user, oauth_mcp.url)
    first = user.post(f"{PATH}/{connection_id}/authorize")["authorization_url"]
    answer = oauth_mcp.decide(user.post(f"{PATH}/{connection_id}/authorize")["authorization_url"])

    def refused(person: Api, **changed: str) -> None:
        assert person.refused(McpAuthorizationNotOpen, "POST", CALLBACK, json=answer | changed) == {}

    refused(user, state="made-up")
    refused(developer(llm_product))
    # The later request has taken the earlier one's place.
    refused(user, state=parse_qs(urlsplit(first).query)["state"][0])
    assert user.post(CALLBACK, answer)["status"] == "connected"
    refused(user)
    assert oauth_mcp.counts["codes"] == 1
    # A code that was used already, in an answer to another request.
    again = user.post(f"{PATH}/{connection_id}/authorize")["authorization_url"]
    replayed = answer | {"state": parse_qs(urlsplit(again).query)["state"][0]}
    details = user.refused(McpAuthorizationFailed, "POST", CALLBACK, json=replayed)
    assert (details["fault"], details["error"]) == ("denied", "invalid_grant")
    # Nothing of what worked before was lost by it.
    assert whisper(user, connection_id) == "whispered hello"


def test_state_of_a_connection_that_was_changed_meanwhile_or_waited_too_long_is_refused(
    llm_product: Server, user: Api, oauth_mcp: McpOAuthServer
):
    connection_id = connect(user, oauth_mcp.url)
    path = f"{PATH}/{connection_id}"
    answer = oauth_mcp.decide(user.post(f"{path}/authorize")["authorization_url"])
    user.put(path, {"url": f"{oauth_mcp.url}?tenant=2"})
    user.refused(McpAuthorizationNotOpen, "POST", CALLBACK, json=answer)
    answer = oauth_mcp.decide(user.post(f"{path}/authorize")["authorization_url"])
    llm_product.sql("UPDATE mcp_authorization_attempt SET expires_at = '2020-01-01 00:00:00'")
    user.refused(McpAuthorizationNotOpen, "POST", CALLBACK, json=answer)
    assert oauth_mcp.counts["codes"] == 0


def test_answer_of_another_issuer_or_of_none_is_refused(user: Api, oauth_mcp: McpOAuthServer):
    connection_id = connect(user, oauth_mcp.url)
    for behaviour in ({"wrong_issuer": "https://evil.example.com"}, {"gives_issuer": False, "wrong_issuer": None}):
        oauth_mcp.control(**behaviour)
        answer = oauth_mcp.decide(user.post(f"{PATH}/{connection_id}/authorize")["authorization_url"])
        details = user.refused(McpAuthorizationFailed, "POST", CALLBACK, json=answer)
        assert (details["fault"], details["connection_id"]) == ("wrong_issuer", connection_id)
    assert oauth_mcp.counts["codes"] == 0


def test_person_who_declines_is_told_so(user: Api, oauth_mcp: McpOAuthServer):
    connection_id = connect(user, oauth_mcp.url)
    url = user.post(f"{PATH}/{connection_id}/authorize")["authorization_url"]
    details = user.refused(McpAuthorizationFailed, "POST", CALLBACK, json=oauth_mcp.decide(url, "Deny"))
    assert (details["fault"], details["error"]) == ("denied", "access_denied")
    assert user.get(f"{PATH}/{connection_id}")["authorization"] is None


@pytest.mark.parametrize("kind", ["elsewhere", "redirect", "endpoint"])
def test_metadata_that_lead_to_an_address_that_is_not_listed_are_not_followed(
    user: Api, oauth_mcp: McpOAuthServer, canary: socket.socket, kind: str
):
    port = canary.getsockname()[1]
    details = failed(user, connect(user, oauth_mcp.rogue_url(f"{kind}-{port}")))
    assert details["fault"] == ("not_allowed" if kind != "redirect" else "no_metadata")
    if kind != "redirect":
        assert details["value"] == f"127.0.0.1:{port}"
    with pytest.raises(BlockingIOError):
        canary.accept()


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("huge", "bad_answer"),
        ("insecure", "not_secure"),
        ("resource", "mismatched"),
        ("issuer", "mismatched"),
        ("plain", "no_pkce"),
    ],
)
def test_metadata_that_can_not_be_trusted_are_refused(user: Api, oauth_mcp: McpOAuthServer, kind: str, fault: str):
    connection_id = connect(user, oauth_mcp.rogue_url(kind))
    details = failed(user, connection_id)
    assert details["fault"] == fault
    assert details["reason"].isascii()
    assert not details["reason_zh"].isascii()
    assert user.get(f"{PATH}/{connection_id}")["authorization"] is None


def test_server_that_goes_down_in_the_middle_leaves_nothing_half_done(user: Api, oauth_mcp: McpOAuthServer):
    connection_id = connect(user, oauth_mcp.url)
    answer = oauth_mcp.decide(user.post(f"{PATH}/{connection_id}/authorize")["authorization_url"])
    oauth_mcp.stop()
    try:
        details = user.refused(McpAuthorizationFailed, "POST", CALLBACK, json=answer)
        assert details["fault"] == "unreachable"
        assert user.get(f"{PATH}/{connection_id}")["authorization"] is None
        assert failed(user, connection_id)["fault"] == "unreachable"
    finally:
        oauth_mcp.start()
    # It has forgotten the client, too: without tokens, Agentex registers anew.
    assert authorize(user, connection_id, oauth_mcp)["status"] == "connected"


def test_owner_signs_out_and_the_tokens_are_revoked(llm_product: Server, user: Api, oauth_mcp: McpOAuthServer):
    connection_id = connect(user, oauth_mcp.url)
    path = f"{PATH}/{connection_id}"
    authorize(user, connection_id, oauth_mcp)
    assert user.delete(f"{path}/authorization") == {"revoked": True}
    assert oauth_mcp.counts["revocations"] == 1
    row = user.get(path)
    assert (row["status"], row["authorization"]) == ("needs_authorization", None)
    assert llm_product.count("mcp_authorization", connection_id=connection_id) == 0
    details = user.refused(McpUnavailable, "POST", f"{path}/tools/whisper/call", json={"params": {"word": "x"}})
    assert details["fault"] == "needs_authorization"
    assert user.delete(f"{path}/authorization") == {"revoked": False}
    # Nobody registers twice where it need not be, but who signed out is a stranger again.
    assert authorize(user, connection_id, oauth_mcp)["status"] == "connected"
    assert oauth_mcp.counts["registrations"] == 2


def test_call_that_needs_more_rights_asks_for_them_and_keeps_the_others(user: Api, oauth_mcp: McpOAuthServer):
    connection_id = connect(user, oauth_mcp.url)
    path = f"{PATH}/{connection_id}"
    authorize(user, connection_id, oauth_mcp)
    details = user.refused(McpUnavailable, "POST", f"{path}/tools/erase/call", json={"params": {}})
    assert details["fault"] == "insufficient_scope"
    row = user.get(path)
    assert (row["status"], row["fault"]) == ("needs_authorization", "insufficient_scope")
    assert whisper(user, connection_id) == "whispered hello"
    row = authorize(user, connection_id, oauth_mcp)
    assert set(row["authorization"]["scope"].split()) == {"use", "write"}
    assert user.post(f"{path}/tools/erase/call", {"params": {}})["result"]["content"][0]["text"] == "erased"


def test_only_the_owner_with_the_permission_authorises(llm_product: Server, user: Api, oauth_mcp: McpOAuthServer):
    connection_id = connect(user, oauth_mcp.url)
    path = f"{PATH}/{connection_id}"
    for person in (developer(llm_product), llm_product.admin()):
        person.refused(McpConnectionNotFound, "POST", f"{path}/authorize")
        person.refused(McpConnectionNotFound, "DELETE", f"{path}/authorization")
    key = user.post("/users/me/api-keys", {"name": "k", "scopes": ["mcp:view", "agent:run"]})["key"]
    narrow = llm_product.api(**{"X-API-Key": key})
    for method, place in (("POST", f"{path}/authorize"), ("DELETE", f"{path}/authorization"), ("POST", CALLBACK)):
        options = {"json": {"state": "x"}} if place == CALLBACK else {}
        assert narrow.refused(PermissionDenied, method, place, **options) == {"permission": "mcp:create"}


def test_connection_with_a_token_or_over_a_websocket_is_not_authorised(user: Api, oauth_mcp: McpOAuthServer):
    with_token = connect(user, oauth_mcp.url, auth_token="wrong")
    assert user.post(f"{PATH}/{with_token}/test")["fault"] == "unauthorised"
    user.refused(McpNotAuthorizable, "POST", f"{PATH}/{with_token}/authorize")
    user.refused(McpNotAuthorizable, "DELETE", f"{PATH}/{with_token}/authorization")
    socket_url = oauth_mcp.url.replace("http", "ws")
    over_socket = {"name": "ws", "type": "websocket", "url": socket_url, "auth_type": "oauth"}
    assert user.refused(InvalidRequest, "POST", PATH, json=over_socket)["field"] == "auth_type"
    # The token makes room for an authorization.
    assert user.put(f"{PATH}/{with_token}", {"auth_type": "oauth"})["has_secret"] is False
    assert authorize(user, with_token, oauth_mcp)["status"] == "connected"


def test_change_of_the_address_forgets_the_authorization(user: Api, llm_product: Server, oauth_mcp: McpOAuthServer):
    connection_id = connect(user, oauth_mcp.url)
    path = f"{PATH}/{connection_id}"
    authorize(user, connection_id, oauth_mcp)
    assert user.put(path, {"name": "renamed"})["authorization"] is not None
    assert user.put(path, {"url": oauth_mcp.rogue_url("plain")})["authorization"] is None
    assert llm_product.count("mcp_authorization", connection_id=connection_id) == 0


def test_server_that_registers_nobody_asks_for_a_client(llm_product: Server, user: Api, oauth_mcp: McpOAuthServer):
    oauth_mcp.control(can_register=False, client_redirect=f"{llm_product.settings.browser_url}/connections/callback")
    connection_id = connect(user, oauth_mcp.rogue_url("plain"))
    user.delete(f"{PATH}/{connection_id}")
    connection_id = connect(user, oauth_mcp.url)
    user.put(f"{PATH}/{connection_id}", {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET})
    assert authorize(user, connection_id, oauth_mcp)["status"] == "connected"


def test_client_metadata_document_is_the_client_where_the_server_reads_it(
    standalone_apis: ApiProcesses, oauth_mcp: McpOAuthServer
):
    public = "https://agentex.example.com"
    listed = {"AGENTEX_ALLOWED_PRIVATE_TARGETS": oauth_mcp.targets, "AGENTEX_OIDC_PUBLIC_URL": public}
    server = standalone_apis.start(**listed)
    document = server.http.get("/api/v1/mcp/oauth/client-metadata").json()
    assert document["client_id"] == f"{public}/api/v1/mcp/oauth/client-metadata"
    assert document["redirect_uris"] == [f"{public}/connections/callback"]
    oauth_mcp.control(reads_client_documents=str(server.http.base_url).rstrip("/"), can_register=False)
    user = developer(server)
    connection_id = connect(user, oauth_mcp.url)
    row = authorize(user, connection_id, oauth_mcp)
    assert row["status"] == "connected"
    eventually(lambda: whisper(user, connection_id) == "whispered hello", what="the tool answers")
    assert oauth_mcp.counts["registrations"] == 0
    standalone_apis.stop(server)
