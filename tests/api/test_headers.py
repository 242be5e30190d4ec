"""What every answer tells browsers: safe headers, and which pages may call the API."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import SimpleNamespace

import httpx
import pytest

from api.app import create_app
from api.http.rate_limit import RequestLimits
from api.middleware import is_open
from core.errors.auth import NotAuthenticated
from core.security.rate_limiter import LocalRateLimiter
from core.settings import Settings
from tests.fixtures.http.client import check_error

pytestmark = pytest.mark.anyio
ORIGIN = "https://wiki.example.com"
METHODS = {"Access-Control-Request-Method": "POST"}


@asynccontextmanager
async def browser(base: str = "http://agentex", **fields: str) -> AsyncGenerator[httpx.AsyncClient]:
    """The application without what it keeps, which a caller without a credential never reaches."""
    settings = Settings(_env_file=None, **fields)
    app = create_app(settings)
    limits = RequestLimits(LocalRateLimiter(), settings)
    security = SimpleNamespace(limits=limits)
    app.state.context = SimpleNamespace(database=None, security=security, settings=settings)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url=base) as client:
        yield client


async def test_every_route_answers_with_safe_headers():
    async with browser() as client:
        paths = (await client.get("/openapi.json")).json()["paths"]
        for path, methods in paths.items():
            if is_open(path):
                continue
            for method in methods:
                answer = await client.request(method, path.replace("{", "").replace("}", ""))
                if "/content" not in path and "feed.ics" not in path:
                    check_error(answer, NotAuthenticated)
                headers = answer.headers
                assert headers["X-Content-Type-Options"] == "nosniff", path
                assert headers["Referrer-Policy"] == "no-referrer", path
                assert headers["Cache-Control"] == "no-store", path
                assert "default-src 'none'" in headers["Content-Security-Policy"], path
                assert "frame-ancestors 'none'" in headers["Content-Security-Policy"], path
                assert "Strict-Transport-Security" not in headers, path


async def test_pages_have_policies_without_unsafe_parts():
    async with browser() as client:
        for path, scripts in (("/", "script-src 'self';"), ("/chat/any", "script-src 'self';"), ("/docs", "'sha256-")):
            answer = await client.get(path)
            assert answer.status_code == 200
            policy = answer.headers["Content-Security-Policy"]
            assert scripts in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert answer.headers.get("Cache-Control", "no-cache") == "no-cache"
            # What monitors ask.
            head = await client.head(path)
            assert (head.status_code, head.headers["Content-Security-Policy"]) == (200, policy)


async def test_browsers_stay_with_https_where_they_came_by_it():
    async with browser("https://agentex") as client:
        answer = await client.get("/api/v1/users/me")
        assert "max-age=" in answer.headers["Strict-Transport-Security"]


async def test_no_page_of_another_origin_may_call_the_api_by_default():
    async with browser() as client:
        answer = await client.options("/api/v1/auth/login", headers={"Origin": ORIGIN, **METHODS})
        answers = [answer, await client.get("/", headers={"Origin": ORIGIN})]
        assert answer.status_code >= 400
        for answer in answers:
            assert not [name for name in answer.headers if name.startswith("access-control-")]


async def test_pages_of_allowed_origins_may_call_the_api_without_cookies():
    async with browser(allowed_origins=f"{ORIGIN}, http://localhost:3000") as client:
        wanted = {"Access-Control-Request-Headers": "authorization,content-type", **METHODS}
        path = "/api/v1/agent/run"
        answer = await client.options(path, headers={"Origin": ORIGIN, **wanted})
        assert answer.status_code == 200
        assert answer.headers["Access-Control-Allow-Origin"] == ORIGIN
        assert "authorization" in answer.headers["Access-Control-Allow-Headers"].lower()
        answer = await client.post(path, headers={"Origin": ORIGIN})
        check_error(answer, NotAuthenticated)
        assert answer.headers["Access-Control-Allow-Origin"] == ORIGIN
        assert "Access-Control-Allow-Credentials" not in answer.headers
        for other in ("https://evil.example", f"{ORIGIN}.evil.example", "null"):
            answer = await client.options(path, headers={"Origin": other, **wanted})
            assert answer.status_code == 400
            assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize("origins", ["*", "https://*", "wiki.example.com", "https://a.example/path", "null", "file://"])
async def test_what_is_no_origin_is_refused_as_a_setting(origins: str):
    with pytest.raises(ValueError, match="is no origin"):
        Settings(_env_file=None, allowed_origins=origins)


@pytest.mark.parametrize("proxies", ["*", "proxy.example", "10.0.0.1/8", "127.0.0.1,,"])
async def test_what_is_no_address_is_refused_as_a_trusted_proxy(proxies: str):
    with pytest.raises(ValueError, match="addresses or networks"):
        Settings(_env_file=None, trusted_proxies=proxies)


async def test_proxies_may_be_networks_or_nobody():
    for proxies in ("10.0.0.0/8, 127.0.0.1", "none", "fd00::/8"):
        assert Settings(_env_file=None, trusted_proxies=proxies).trusted_proxies == proxies
