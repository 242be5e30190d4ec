"""The doctor's look for an Ollama on this machine, and what it offers."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from core.settings import get_settings
from tests.cli.conftest import Agentex
from tests.fixtures.product.processes import free_port


@dataclass
class Ollama:
    """A stand-in for Ollama's list of models."""

    port: int = 0
    body: str = ""
    paths: list[str] = field(default_factory=list[str])

    def has(self, *names: str) -> None:
        self.body = json.dumps({"models": [{"name": name, "size": 1} for name in names]})


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ollama]:
    state = Ollama()

    class Tags(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.paths.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(state.body.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Tags) as server:
        state.port = server.server_port
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{state.port}")
        Thread(target=server.serve_forever, args=(0.01,)).start()
        yield state
        server.shutdown()


def finding(agentex: Agentex) -> dict[str, str]:
    get_settings.cache_clear()
    (check,) = [check for check in agentex("doctor", "--json").json["checks"] if check["name"] == "ollama"]
    return check


def test_ollama_is_found_and_offered_with_the_command_that_uses_it(
    agentex: Agentex, ollama: Ollama, monkeypatch: pytest.MonkeyPatch
):
    ollama.has("qwen3:8b", "llama3.2:latest")
    found = finding(agentex)
    assert (found["status"], "qwen3:8b, llama3.2:latest" in found["detail"]) == ("ok", True)
    address = f"127.0.0.1:{ollama.port}"
    command = (
        f"agentex admin models add qwen3:8b --provider ollama --model qwen3:8b --base-url http://{address}/v1 --default"
    )
    assert found["hint"].endswith(command)
    assert "allowed_private_targets" not in found["hint"]
    assert ollama.paths == ["/api/tags"]
    # Where others reach the server, its address has to be listed first.
    monkeypatch.setenv("AGENTEX_HOST", "0.0.0.0")
    assert f"agentex admin config set allowed_private_targets {address}" in finding(agentex)["hint"]
    monkeypatch.setenv("AGENTEX_ALLOWED_PRIVATE_TARGETS", address)
    assert "allowed_private_targets" not in finding(agentex)["hint"]


def test_ollama_is_not_offered_where_a_model_is_configured(
    agentex: Agentex, ollama: Ollama, monkeypatch: pytest.MonkeyPatch
):
    ollama.has("qwen3:8b")
    monkeypatch.setenv("AGENTEX_LLM_BASE_URL", f"http://127.0.0.1:{free_port()}/v1")
    monkeypatch.setenv("AGENTEX_LLM_MODEL", "other")
    found = finding(agentex)
    assert ("qwen3:8b" in found["detail"], found["hint"]) == (True, None)


@pytest.mark.parametrize("body", ["", "<html>", '{"models": 5}', "[]"])
def test_what_is_no_ollama_is_not_offered(agentex: Agentex, ollama: Ollama, body: str):
    ollama.body = body
    found = finding(agentex)
    assert (found["status"], found["detail"]) == ("ok", f"none answers at 127.0.0.1:{ollama.port}")
    assert found["hint"] is None


def test_ollama_without_a_model_is_told_how_to_get_one(agentex: Agentex, ollama: Ollama):
    ollama.has()
    assert "ollama pull" in finding(agentex)["hint"]


def test_machine_without_an_ollama_is_well(agentex: Agentex, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OLLAMA_HOST", f"http://0.0.0.0:{(port := free_port())}/")
    found = finding(agentex)
    assert (found["status"], found["detail"]) == ("ok", f"none answers at 127.0.0.1:{port}")
