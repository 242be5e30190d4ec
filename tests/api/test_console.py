"""The console's page and files: open to all, cached, compressed, and with nothing else beside them."""

import gzip
import json
import re
from collections.abc import AsyncGenerator
from types import SimpleNamespace

import httpx
import pytest

from api.app import create_app
from api.http.console_paths import CONSOLE_PAGES
from api.http.rate_limit import RequestLimits
from core.errors.auth import NotAuthenticated, NotFound
from core.security.rate_limiter import LocalRateLimiter
from core.settings import Settings
from scripts import console
from tests.fixtures.http.client import check_error
from tests.fixtures.paths import ROOT

pytestmark = pytest.mark.anyio


@pytest.fixture
async def client() -> AsyncGenerator[httpx.AsyncClient]:
    """A browser's requests to the application, without anything behind it."""
    settings = Settings(_env_file=None, requests_per_minute=5)
    app = create_app(settings)
    security = SimpleNamespace(limits=RequestLimits(LocalRateLimiter(), settings))
    app.state.context = SimpleNamespace(database=None, security=security, settings=settings)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://agentex") as client:
        yield client


async def test_page_answers_at_each_address_of_the_console(client: httpx.AsyncClient):
    home = await client.get("/")
    assert home.headers["Content-Type"].startswith("text/html")
    for path in ("/knowledge-bases/1/documents/2?chunk=3", "/rules/1/log", "/sign-in"):
        assert (await client.get(path)).text == home.text


async def test_policy_allows_nothing_inline_and_nothing_of_other_servers(client: httpx.AsyncClient):
    policy = (await client.get("/")).headers["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"<style|<script(?![^>]+src=)| on\w+=| style=", (await client.get("/")).text)


async def test_files_are_compressed_kept_for_ever_and_not_counted(client: httpx.AsyncClient):
    names = re.findall(r"/assets/[\w.-]+", (await client.get("/")).text)
    assert names
    # More often than a stranger may ask.
    for _ in range(5):
        for name in names:
            answer = await client.get(name)
            assert answer.status_code == 200
            assert answer.headers["Content-Encoding"] == "gzip"
            assert "immutable" in answer.headers["Cache-Control"]
    plain = await client.get(names[0], headers={"Accept-Encoding": "identity"})
    assert "Content-Encoding" not in plain.headers
    assert plain.content == (ROOT / "api" / "console" / names[0].removeprefix("/")).read_bytes()


@pytest.mark.parametrize("path", ["/assets/no-such-file.js", "/assets/..%2findex.html", "/assets/build.json"])
async def test_no_other_file_is_served(client: httpx.AsyncClient, path: str):
    check_error(await client.get(path), NotFound)


@pytest.mark.parametrize("path", ["/build.json", "/index.html", "/chatter", "/admins", "/api/v1/skills"])
async def test_neighbours_of_the_console_stay_closed(client: httpx.AsyncClient, path: str):
    check_error(await client.get(path), NotAuthenticated)


async def test_first_script_is_small(client: httpx.AsyncClient):
    page = (await client.get("/")).text
    scripts = re.findall(r"(?:src|href)=\"(/assets/[\w.-]+\.js)\"", page)
    built = ROOT / "api" / "console"
    assert sum(len(gzip.compress((built / name[1:]).read_bytes())) for name in scripts) < 300_000


def test_built_files_belong_to_the_sources():
    assert console.staleness() is None


def test_changed_source_makes_the_build_stale(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(console, "source_digest", lambda: "other")
    assert console.staleness() == (
        "The console's built files are older than its sources: run python -m scripts.console build"
    )


def test_server_opens_every_page_that_the_console_has():
    sources = [path.read_text() for path in (ROOT / "web" / "src").rglob("routes.ts")]
    # Paths of tabs come after that of their frame.
    route = re.compile(r"=> (?!knowledgeBaseRoute|adminRoute|skillRoute|rulesRoute|ruleRoute)\w+,\s+path: \"(/[a-z-]+)")
    first = {match for text in sources for match in route.findall(text)}
    assert first == set(CONSOLE_PAGES)


def texts(language: str) -> dict[str, set[str]]:
    """The keys of each catalogue, plural forms as one."""

    def keys(node: dict[str, object], before: str = "") -> set[str]:
        found: set[str] = set()
        for key, value in node.items():
            path = f"{before}.{key}" if before else key
            found |= keys(value, path) if isinstance(value, dict) else {re.sub(r"_(one|other)$", "", path)}
        return found

    folder = ROOT / "web" / "src" / "i18n" / language
    return {path.stem: keys(json.loads(path.read_text())) for path in folder.glob("*.json")}


def test_both_languages_have_every_text():
    assert texts("en") == texts("zh")
