"""``agentex login --sso`` against the running product and a real provider."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import build
from core.errors.oidc import OidcCodeInvalid, OidcEmailRefused
from core.settings import get_settings
from tests.fixtures.http.client import check_error
from tests.fixtures.paths import ROOT
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.servers.oidc_provider import TOKEN, Browser, OidcProvider, Person, code_in

pytestmark = [one_shape, pytest.mark.usefixtures("closed_browsers")]


@pytest.fixture
def agentex(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Result]]:
    """Runs a command with nothing stored, the browser being a person's who is named first."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("AGENTEX_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("AGENTEX_URL", f"http://127.0.0.1:{server.settings.port}")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    # Python reads it once.
    monkeypatch.setenv("BROWSER", f"{sys.executable} -m tests.fixtures.product.sso_browser %s")
    monkeypatch.delenv("AGENTEX_API_KEY", raising=False)
    get_settings.cache_clear()

    def run(person: Person, *arguments: str) -> Result:
        monkeypatch.setenv("SSO_SUBJECT", person.subject)
        return CliRunner().invoke(build(), list(arguments))

    yield run
    get_settings.cache_clear()


def test_person_logs_in_with_a_browser(agentex: Callable[..., Result], provider: OidcProvider):
    person = provider.add()
    result = agentex(person, "login", "--sso", "--json")
    assert result.exit_code == 0, result.output
    name = person.claims["preferred_username"]
    assert json.loads(result.stdout)["user"]["username"] == name
    listed = agentex(person, "kb", "list", "--json")
    assert listed.exit_code == 0, listed.output


def test_person_who_is_refused_is_told_in_the_terminal(agentex: Callable[..., Result], provider: OidcProvider):
    result = agentex(provider.add(email=None), "login", "--sso", "--lang", "zh")
    assert result.exit_code == 1
    assert OidcEmailRefused.message_zh in result.output


def test_only_one_way_to_log_in_is_taken(agentex: Callable[..., Result]):
    result = agentex(Person("nobody", {}), "login", "--sso", "--api-key-stdin")
    assert result.exit_code == 2


def test_code_is_worth_nothing_to_other_programs(server: Server, provider: OidcProvider):
    browser = Browser(f"http://127.0.0.1:{server.settings.port}")
    challenge = "0" * 64
    answer = browser.log_in(provider.add(), port=5000, challenge=challenge)
    assert answer.headers["Location"].startswith("http://127.0.0.1:5000/?sso_code=")
    code = code_in(answer, sent_with="query")
    # Neither what was seen on the way nor the browser itself proves anything.
    for verifier in (None, challenge, "v" * 43):
        body = {"code": code, **({"verifier": verifier} if verifier else {})}
        refused = browser.http.post(browser.server + TOKEN, json=body)
        check_error(refused, OidcCodeInvalid)
