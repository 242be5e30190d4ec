"""The checks of the MCP endpoint before a request is read."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.requests import Request

from api.container import AppContext
from api.skills.mcp_server import _check_request
from core.errors.auth import NotFound, OriginNotAllowed
from core.errors.requests import InvalidRequest
from core.settings import Settings

pytestmark = pytest.mark.anyio
JSON = ("content-type", "application/json; charset=utf-8")
WIKI = "https://wiki.example.com"


async def admitted(*headers: tuple[str, str], **fields: Any) -> None:
    settings = Settings(_env_file=None, **fields)
    raw = [(name.encode(), value.encode()) for name, value in headers]
    request = Request({"type": "http", "headers": raw})
    await _check_request(request, cast(AppContext, SimpleNamespace(settings=settings)))


async def test_programs_and_listed_pages_are_let_in():
    await admitted(JSON)
    await admitted(JSON, ("origin", WIKI), allowed_origins=WIKI)
    for origin in ("http://localhost:6274", "http://127.0.0.1", "https://[::1]:8000"):
        await admitted(JSON, ("origin", origin))


@pytest.mark.parametrize(
    "origins",
    [
        ["null"],
        [""],
        ["https://wiki.example.com.evil"],
        [WIKI, "x"],
        ["http://localhost.evil.example"],
        ["http://127.0.0.1.evil.example:80"],
        ["http://localhost:80@evil.example"],
        ["http://127.0.0.1:8000\n"],
    ],
)
async def test_other_pages_are_not(origins: list[str]):
    with pytest.raises(OriginNotAllowed):
        await admitted(JSON, *(("origin", origin) for origin in origins), allowed_origins=WIKI)


async def test_a_body_must_say_that_it_is_json():
    for headers in ([], [("content-type", "text/plain")]):
        with pytest.raises(InvalidRequest):
            await admitted(*headers)


async def test_operator_can_switch_it_off():
    for left in ("skills_over_mcp_enabled", "tools_over_mcp_enabled"):
        off = {"skills_over_mcp_enabled": False, "tools_over_mcp_enabled": False, left: True}
        await admitted(JSON, **off)
    with pytest.raises(NotFound):
        await admitted(JSON, skills_over_mcp_enabled=False, tools_over_mcp_enabled=False)
