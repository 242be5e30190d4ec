"""Settings: where they come from, what is refused, what is derived from them."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from core.settings import Settings, get_settings, override_settings
from tests.fixtures.paths import ROOT
from tests.fixtures.product.environment import forget_settings


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No setting from this machine: no variable, no ``.env``."""
    monkeypatch.chdir(tmp_path)
    with forget_settings(monkeypatch):
        yield


def test_nothing_set_gives_the_embedded_shape(tmp_path: Path):
    settings = Settings()
    assert settings.data_dir == tmp_path / "data"
    assert (settings.host, settings.port) == ("127.0.0.1", 8000)
    assert settings.effective_database_url == f"sqlite+aiosqlite:///{tmp_path}/data/agentex.db"
    assert settings.effective_redis_url == f"unix://{settings.runtime_dir}/redis.sock"
    assert settings.qdrant_url is None
    assert settings.object_store_url is None


def test_environment_wins_over_the_file_and_the_file_over_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / ".env").write_text("AGENTEX_PORT=9001\nAGENTEX_HOST=0.0.0.0\nOTHER=1\n")
    monkeypatch.setenv("AGENTEX_PORT", "9002")
    settings = Settings()
    assert (settings.port, settings.host, settings.log_level) == (9002, "0.0.0.0", "info")


def test_what_is_set_to_nothing_counts_as_not_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name in ("PORT", "DATABASE_URL", "DATA_DIR", "ENGINE_SOCKET"):
        monkeypatch.setenv(f"AGENTEX_{name}", "")
    (tmp_path / ".env").write_text("AGENTEX_REDIS_URL=\nAGENTEX_LOG_LEVEL=\n")
    assert Settings() == Settings(_env_file=None, data_dir=tmp_path / "data")


@pytest.mark.parametrize("name", ["SECRET_KEY", "ADMIN_PASSWORD"])
@pytest.mark.parametrize("value", ["", " ", "changeme", "ChangeMe "])
@pytest.mark.parametrize("source", ["environment", "file"])
def test_empty_and_sample_secrets_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str, source: str
):
    if source == "file":
        (tmp_path / ".env").write_text(f"AGENTEX_{name}='{value}'\n")
    else:
        monkeypatch.setenv(f"AGENTEX_{name}", value)
    with pytest.raises(ValidationError, match="is empty or the sample value"):
        Settings()


@pytest.mark.parametrize("value", ["", "changeme"])
def test_serve_with_such_a_secret_ends_with_one_clear_line(tmp_path: Path, value: str):
    assert "AGENTEX_SECRET_KEY" in refused_start(tmp_path, AGENTEX_SECRET_KEY=value)


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"AGENTEX_LLM_PROVIDER": "nobody"}, "AGENTEX_LLM_PROVIDER"),
        ({"AGENTEX_LLM_PROVIDER": "ollama"}, "AGENTEX_LLM_MODEL"),
        ({"AGENTEX_LLM_OPTIONS": "{"}, "AGENTEX_LLM_OPTIONS"),
    ],
)
def test_serve_with_half_a_language_model_ends_with_one_clear_line(
    tmp_path: Path, variables: dict[str, str], named: str
):
    assert named in refused_start(tmp_path, **variables)


def refused_start(tmp_path: Path, **variables: str) -> str:
    """What ``agentex serve`` says when it does not start; nothing is left behind."""
    environment = {**os.environ, "AGENTEX_DATA_DIR": str(tmp_path), **variables}
    run = subprocess.run(
        [sys.executable, "-m", "cli.main", "serve"],
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode != 0
    text = (run.stdout + run.stderr).strip()
    assert "Traceback" not in text
    assert len(text.splitlines()) <= 3
    assert list(tmp_path.iterdir()) == []
    return text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("port", 70_000),
        ("port", "http"),
        ("max_upload_bytes", 0),
        ("lease_seconds", -1),
        ("lease_seconds", 601),
        ("log_level", "loud"),
        ("access_token_seconds", 1),
        ("ingest_attempts", 0),
    ],
)
def test_value_out_of_range_is_refused(name: str, value: object):
    with pytest.raises(ValidationError):
        Settings(**{name: value})


def test_settings_can_not_be_changed():
    with pytest.raises(ValidationError):
        Settings().port = 1  # type: ignore[misc]


def test_secrets_are_not_shown():
    settings = Settings(secret_key="a-real-secret", llm_api_key="sk-hunter2hunter2")
    assert "a-real-secret" not in f"{settings!r}{settings}{settings.model_dump()}"
    assert "hunter2" not in f"{settings!r}{settings}{settings.model_dump()}"


def test_parsers_are_names_that_exist(monkeypatch: pytest.MonkeyPatch):
    assert Settings().parsers == ()
    monkeypatch.setenv("AGENTEX_PARSERS", " LibreOffice , libreoffice,")
    assert Settings().parsers == ("libreoffice",)
    monkeypatch.setenv("AGENTEX_PARSERS", "libreoffice,abiword")
    with pytest.raises(ValidationError, match=r"may name only: .*libreoffice"):
        Settings()


def test_parser_that_is_a_service_needs_its_address(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AGENTEX_PARSERS", "docling")
    with pytest.raises(ValidationError, match="set AGENTEX_DOCLING_URL"):
        Settings()
    monkeypatch.setenv("AGENTEX_DOCLING_URL", "http://docling:5001/")
    assert Settings().docling_url == "http://docling:5001"
    for url in (
        "docling:5001",
        "ftp://docling",
        "http://",
        "http://a:b@docling",
        "http://docling?x=1",
        "http://docling#x",
    ):
        monkeypatch.setenv("AGENTEX_DOCLING_URL", url)
        with pytest.raises(ValidationError, match="docling_url"):
            Settings()
    monkeypatch.setenv("AGENTEX_DOCLING_URL", "http://docling:5001")
    monkeypatch.setenv("AGENTEX_DOCLING_API_KEY", "hunter2\n")
    with pytest.raises(ValidationError, match="no header can carry") as refused:
        Settings()
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("postgres://u:p@h/d", "postgresql+asyncpg://u:p@h/d"),
        ("postgresql://h/d?ssl=require", "postgresql+asyncpg://h/d?ssl=require"),
        ("postgresql+psycopg://h/d", "postgresql+asyncpg://h/d"),
        ("sqlite:////tmp/x.db", "sqlite+aiosqlite:////tmp/x.db"),
    ],
)
def test_database_url_gets_the_driver_that_is_installed(given: str, used: str):
    assert Settings(database_url=given).effective_database_url == used


def test_sockets_move_where_the_data_folders_path_is_too_long_for_them(tmp_path: Path):
    short = Settings(data_dir=tmp_path / "data")
    deep = Settings(data_dir=tmp_path / ("x" * 90))
    other = Settings(data_dir=tmp_path / ("y" * 90))
    assert short.runtime_dir == short.data_dir / "run" or len(str(tmp_path)) > 75
    for settings in (deep, other):
        assert len(str(settings.effective_engine_socket)) < 108
        assert settings.data_dir not in settings.runtime_dir.parents
    assert deep.runtime_dir != other.runtime_dir


def test_value_of_the_command_line_holds_for_child_processes_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("AGENTEX_PORT", "9001")
    monkeypatch.setenv("AGENTEX_HOST", "::1")
    settings = override_settings(port=9002, host=None, data_dir=tmp_path / "there")
    try:
        assert settings is get_settings()
        assert (settings.port, settings.host) == (9002, "::1")
        assert os.environ["AGENTEX_PORT"] == "9002"
        assert os.environ["AGENTEX_DATA_DIR"] == str(tmp_path / "there")
    finally:
        # Not through monkeypatch: it would put the value back at the end.
        os.environ.pop("AGENTEX_DATA_DIR")
        get_settings.cache_clear()


def test_private_targets_are_host_and_port_separated_by_commas(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AGENTEX_ALLOWED_PRIVATE_TARGETS", "LocalHost:3001, [::1]:8765,")
    assert Settings().allowed_private_targets == ("localhost:3001", "[::1]:8765")


@pytest.mark.parametrize("value", ["localhost", "http://localhost:1", "::1:80", "a:0", "*:80,b"])
def test_private_targets_without_a_port_are_refused(monkeypatch: pytest.MonkeyPatch, value: str):
    monkeypatch.setenv("AGENTEX_ALLOWED_PRIVATE_TARGETS", value)
    with pytest.raises(ValidationError, match="host:port"):
        Settings()


OIDC = {"oidc_issuer": "https://login.example.com", "oidc_client_id": "agentex"}


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"oidc_issuer": "https://login.example.com"}, "oidc_client_id"),
        ({**OIDC, "oidc_issuer": "http://login.example.com"}, "oidc_issuer"),
        ({**OIDC, "oidc_issuer": "https://user:pw@login.example.com"}, "oidc_issuer"),
        ({**OIDC, "oidc_issuer": "https://login.example.com?a=b"}, "oidc_issuer"),
        ({**OIDC, "oidc_public_url": "http://agentex.example.com"}, "oidc_public_url"),
        ({**OIDC, "host": "0.0.0.0"}, "host"),
        ({**OIDC, "host": "::"}, "host"),
        ({**OIDC, "oidc_client_secret": "changeme"}, "oidc_client_secret"),
        ({**OIDC, "oidc_scopes": "email"}, "oidc_scopes"),
        ({**OIDC, "oidc_email_domains": "example.com, @corp"}, "oidc_email_domains"),
        ({**OIDC, "oidc_roles_claim": "groups", "oidc_roles": "{"}, "oidc_roles"),
        ({**OIDC, "oidc_roles": '{"a": "admin"}'}, "oidc_roles"),
        ({**OIDC, "oidc_roles_claim": "groups"}, "oidc_roles"),
    ],
)
def test_single_sign_on_that_is_not_whole_or_not_safe_is_refused(values: dict[str, str], named: str):
    with pytest.raises(ValidationError) as caught:
        Settings(**values)
    assert {problem["loc"] for problem in caught.value.errors()} == {(named,)}


def test_single_sign_on_reads_lists_and_roles():
    settings = Settings(
        **OIDC,
        oidc_email_domains="Example.com, corp.example",
        oidc_roles_claim="groups",
        oidc_roles='{"chiefs": "admin"}',
    )
    assert settings.oidc_email_domains == ("example.com", "corp.example")
    assert settings.oidc_roles == {"chiefs": "admin"}


@pytest.mark.parametrize(
    ("folder", "complaint"),
    [("backups", "absolute path"), ("data/backups", "absolute path"), ("{data}/x", "data folder")],
)
def test_folder_of_backups_lies_outside_of_the_data(tmp_path: Path, folder: str, complaint: str):
    with pytest.raises(ValidationError, match=complaint):
        Settings(_env_file=None, data_dir=tmp_path, backup_folder=Path(folder.format(data=tmp_path)))
    # The same place by another way.
    (tmp_path / "link").symlink_to(tmp_path / "data")
    with pytest.raises(ValidationError, match="data folder"):
        Settings(_env_file=None, data_dir=tmp_path / "data", backup_folder=tmp_path / "link" / "backups")
    assert Settings(_env_file=None, data_dir=tmp_path / "data", backup_folder=tmp_path / "b").backup_folder
