"""Private addresses over HTTP: whose models and connections lead there, by binding, list and role."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from core.errors.requests import InvalidRequest, UrlNotAllowed
from core.errors.server import McpUnavailable
from tests.core.test_outbound import FORMS
from tests.fixtures.http.client import Api, unique
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.api_processes import ApiProcesses, api_processes, same_caller
from tests.fixtures.product.processes import free_port
from tests.fixtures.product.server import Server
from tests.fixtures.servers.mcp_server import TOKEN, McpServers

CONNECTIONS = "/mcp/connections"
MODELS = "/admin/models"
CONFIG = "/admin/system/config/allowed_private_targets"
SETTING = "AGENTEX_ALLOWED_PRIVATE_TARGETS"
METADATA = ("http://169.254.169.254/latest", "http://[fd00:ec2::254]/latest", "http://100.100.100.200/latest")


@pytest.fixture(scope="module")
def apis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiProcesses]:
    with api_processes(tmp_path_factory.mktemp("private"), {}) as processes:
        yield processes


@pytest.fixture(scope="module")
def local(apis: ApiProcesses) -> Server:
    """Listens on loopback, as ``make run`` does."""
    return apis.start()


@pytest.fixture(scope="module")
def wide(apis: ApiProcesses) -> Server:
    """Listens on every address, on the same database."""
    return apis.start(AGENTEX_HOST="0.0.0.0")


@pytest.fixture(autouse=True)
def _forgotten_list(local: Server) -> Iterator[None]:
    yield
    local.sql("DELETE FROM stored_config")


def person_of(server: Server, role: str) -> Api:
    person = server.person()
    give_role(server, person, role)
    return person


def give_role(server: Server, person: Api, role: str) -> None:
    role_id = server.sql("SELECT id FROM role WHERE name = :name", name=role)[0]["id"]
    server.sql('UPDATE "user" SET role_id = :role WHERE id = :id', role=role_id, id=person.user_id)


def connection(url: str, **fields: Any) -> dict[str, Any]:
    kind = "websocket" if url.startswith("ws") else "standard"
    return {"name": unique("tools"), "type": kind, "url": url, "auth_type": "none", **fields}


def with_token(url: str) -> dict[str, Any]:
    return connection(url, auth_type="bearer", auth_token=TOKEN)


def model(**fields: Any) -> dict[str, Any]:
    return {"name": unique("model"), "provider": "openai-compatible", "model_id": "plain", **fields}


class Redirector:
    """A server on loopback that sends everybody on, and one behind it that counts who comes."""

    def __init__(self) -> None:
        self.arrivals: list[str] = []
        self.requests: list[str] = []
        redirector = self

        class Inner(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                redirector.arrivals.append(self.path)
                self.send_response(204)
                self.end_headers()

            do_POST = do_GET

            def log_message(self, *arguments: object) -> None:
                pass

        class Outer(Inner):
            def do_GET(self) -> None:
                redirector.requests.append(self.path)
                self.send_response(307)
                self.send_header("Location", f"http://127.0.0.1:{redirector.inner.server_port}/inner")
                self.end_headers()

            do_POST = do_GET

        self.inner = ThreadingHTTPServer(("127.0.0.1", 0), Inner)
        self.outer = ThreadingHTTPServer(("127.0.0.1", 0), Outer)
        for server in (self.inner, self.outer):
            Thread(target=server.serve_forever, daemon=True).start()

    def close(self) -> None:
        for server in (self.inner, self.outer):
            server.shutdown()
            server.server_close()


@pytest.fixture
def redirector() -> Iterator[Redirector]:
    server = Redirector()
    yield server
    server.close()


@pytest.mark.parametrize("url", ["http://localhost:3001", "ws://localhost:8765"])
def test_examples_of_the_contract_are_kept_for_an_administrator_at_first_start(local: Server, url: str):
    made = local.admin().post(CONNECTIONS, connection(url))
    assert made["url"] == url


def test_ollama_is_registered_at_first_start_by_address_and_by_its_preset(local: Server):
    admin = local.admin()
    for fields in ({"base_url": "http://localhost:11434/v1"}, {}):
        made = admin.post(MODELS, model(provider="ollama", model_id="qwen3:8b", **fields))
        admin.delete(f"{MODELS}/{made['id']}")


def test_administrators_model_and_connections_on_this_machine_are_called(
    local: Server, scripted_llm: ModelServer, outside_mcp: McpServers
):
    admin = local.admin()
    made = admin.post(MODELS, model(base_url=scripted_llm.base_url))
    # Whoever may use the model: where it is was an administrator's choice.
    assert local.person().post(f"/models/{made['id']}/test")["success"] is True
    for url in (outside_mcp.http_url, outside_mcp.ws_url):
        path = f"{CONNECTIONS}/{admin.post(CONNECTIONS, with_token(url))['id']}"
        assert admin.post(f"{path}/test")["success"] is True
        called = admin.post(f"{path}/tools/add/call", {"params": {"a": 40, "b": 2}})
        assert called["result"]["content"][0]["text"] == "42"


def test_no_spelling_leads_a_user_to_a_private_address(local: Server, outside_mcp: McpServers):
    user = person_of(local, "developer")
    for form in FORMS:
        for scheme in ("http", "ws"):
            body = connection(f"{scheme}://{form}:{outside_mcp.port}/mcp")
            user.refused(UrlNotAllowed, "POST", CONNECTIONS, json=body)
    assert user.get(CONNECTIONS)["total"] == 0
    # What got into the database by whatever way is judged at the contact.
    made = user.post(CONNECTIONS, with_token("http://1.1.1.1/mcp"))
    before = len(outside_mcp.calls)
    for url in (outside_mcp.http_url, outside_mcp.http_url.replace("127.0.0.1", "localhost")):
        local.sql("UPDATE mcp_connection SET url = :url, version = version + 1 WHERE id = :id", url=url, id=made["id"])
        tested = user.post(f"{CONNECTIONS}/{made['id']}/test")
        assert (tested["success"], SETTING in tested["message"]) == (False, True)
        details = user.refused(McpUnavailable, "POST", f"{CONNECTIONS}/{made['id']}/tools/add/call", json={})
        assert (details["fault"], details["setting"]) == ("not_allowed", SETTING)
        assert details["value"] in url
    assert len(outside_mcp.calls) == before


def test_metadata_services_are_nobodys_even_if_they_are_listed(local: Server):
    admin = local.admin()
    admin.put(CONFIG, {"value": ["169.254.169.254:80", "100.100.100.200:80", "[fd00:ec2::254]:80"]})
    for url in METADATA:
        details = admin.refused(UrlNotAllowed, "POST", CONNECTIONS, json=connection(url))
        assert "value" not in details
        admin.refused(UrlNotAllowed, "POST", MODELS, json=model(base_url=url))


def test_redirect_of_an_administrators_address_leads_nowhere_else(local: Server, redirector: Redirector):
    admin = local.admin()
    port = redirector.outer.server_port
    for scheme in ("http", "ws"):
        made = admin.post(CONNECTIONS, connection(f"{scheme}://127.0.0.1:{port}/{scheme}"))
        assert admin.post(f"{CONNECTIONS}/{made['id']}/test")["success"] is False
    made = admin.post(MODELS, model(base_url=f"http://127.0.0.1:{port}/model"))
    assert local.person().post(f"/models/{made['id']}/test")["success"] is False
    asked = {path.split("/")[1] for path in redirector.requests}
    assert (asked, redirector.arrivals) == ({"http", "ws", "model"}, [])


@pytest.mark.parametrize("kind", ["http_url", "ws_url"])
def test_owner_who_loses_the_role_loses_the_way_to_private_addresses(local: Server, outside_mcp: McpServers, kind: str):
    owner = person_of(local, "admin")
    url = getattr(outside_mcp, kind)
    call = f"{CONNECTIONS}/{owner.post(CONNECTIONS, with_token(url))['id']}/tools/add/call"
    params = {"params": {"a": 1, "b": 1}}
    owner.post(call, params)
    before = len(outside_mcp.calls)
    # Its session is still open.
    give_role(local, owner, "developer")
    assert owner.refused(McpUnavailable, "POST", call, json=params)["fault"] == "not_allowed"
    assert len(outside_mcp.calls) == before


def test_other_binding_refuses_administrators_and_names_what_to_add(
    local: Server, wide: Server, outside_mcp: McpServers, scripted_llm: ModelServer
):
    admin = wide.admin()
    value = f"localhost:{outside_mcp.port}"
    body = with_token(f"http://{value}/mcp")
    chinese = {"Accept-Language": "zh-CN"}
    for headers in ({}, chinese):
        details = admin.refused(UrlNotAllowed, "POST", CONNECTIONS, json=body, headers=headers)
        assert (details["setting"], details["value"]) == (SETTING, value)
        for words in (details["error"], details["error_zh"]):
            assert SETTING in words
            assert value in words
    details = admin.refused(UrlNotAllowed, "POST", MODELS, json=model(base_url=scripted_llm.base_url))
    assert (details["field"], details["value"]) == ("base_url", f"127.0.0.1:{scripted_llm.port}")
    # What was registered while the server was local only is not called.
    made = local.admin().post(MODELS, model(base_url=scripted_llm.base_url))
    tested = admin.post(f"/models/{made['id']}/test")
    assert (tested["fault"], details["value"] in tested["message"]) == ("address_refused", True)


def test_administrator_changes_the_list_while_the_server_runs(
    wide: Server, outside_mcp: McpServers, scripted_llm: ModelServer
):
    admin, user = wide.admin(), person_of(wide, "developer")
    body = with_token(outside_mcp.http_url)
    admin.refused(UrlNotAllowed, "POST", CONNECTIONS, json=body)
    value = f"127.0.0.1:{outside_mcp.port}"
    model_target = f"127.0.0.1:{scripted_llm.port}"
    changed = admin.put(CONFIG, {"value": [value, f" {model_target} "]})
    assert (changed["value"], changed["type"], changed["source"]) == ([value, model_target], "targets", "stored")
    made = admin.post(MODELS, model(base_url=scripted_llm.base_url))
    test = f"/models/{made['id']}/test"
    assert admin.post(test)["success"] is True
    calls = []
    for caller in (admin, user):
        calls.append(f"{CONNECTIONS}/{caller.post(CONNECTIONS, body)['id']}/tools/add/call")
        caller.post(calls[-1], {"params": {"a": 1, "b": 1}})
    # Connections and sessions that are open are used no more.
    before = len(outside_mcp.calls), len(scripted_llm.run_requests)
    assert admin.put(CONFIG, {"value": ""})["value"] == []
    for caller, call in zip((admin, user), calls, strict=True):
        details = caller.refused(McpUnavailable, "POST", call, json={"params": {"a": 1, "b": 1}})
        assert (details["fault"], details["value"]) == ("not_allowed", value)
    assert admin.post(test)["fault"] == "address_refused"
    assert (len(outside_mcp.calls), len(scripted_llm.run_requests)) == before
    # As the environment writes it.
    assert admin.put(CONFIG, {"value": f"LocalHost.:3001, {value},"})["value"] == ["localhost:3001", value]
    assert admin.delete(CONFIG)["value"] == []


@pytest.mark.parametrize(
    "value",
    ["localhost", ["localhost"], ["localhost:0"], ["http://localhost:3001"], [""], [3001], 3001, None, {"a": 1},
     ["a\u0000:80"], ["x" * 400 + ":80"], [f"localhost:{port}" for port in range(1, 102)]],
)  # fmt: skip
def test_what_is_no_list_of_host_and_port_is_refused(local: Server, value: object):
    details = local.admin().refused(InvalidRequest, "PUT", CONFIG, json={"value": value})
    assert details["field"] == "value"


@pytest.mark.parametrize(
    "settings",
    [{"AGENTEX_TRUSTED_PROXIES": "127.0.0.1"}, {"AGENTEX_URL": "https://wiki.example.com"}],
    ids=["trusted proxy", "public URL"],
)
def test_loopback_binding_behind_a_proxy_is_not_local(apis: ApiProcesses, settings: dict[str, str]):
    server = apis.start(**settings)
    try:
        body = connection("http://localhost:3001")
        assert server.admin().refused(UrlNotAllowed, "POST", CONNECTIONS, json=body)["value"] == "localhost:3001"
    finally:
        apis.stop(server)


def test_request_through_a_proxy_that_no_setting_names_ends_being_local(apis: ApiProcesses, outside_mcp: McpServers):
    server = apis.start()
    try:
        admin = server.admin()
        path = f"{CONNECTIONS}/{admin.post(CONNECTIONS, with_token(outside_mcp.http_url))['id']}"
        assert admin.post(f"{path}/test")["success"] is True
        same_caller(admin, server).request("GET", "/users/me", headers={"X-Forwarded-For": "203.0.113.9"})
        details = admin.refused(UrlNotAllowed, "POST", CONNECTIONS, json=connection(f"http://localhost:{free_port()}"))
        assert details["setting"] == SETTING
        assert admin.post(f"{path}/test")["success"] is False
    finally:
        apis.stop(server)
