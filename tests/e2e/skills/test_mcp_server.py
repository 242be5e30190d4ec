"""The MCP server of skills, by the library's own client and by hand."""

import hashlib
import io
import json
import zipfile
from base64 import b64decode
from typing import Any

import httpx
import pytest
import yaml
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, BlobResourceContents
from mcp_types import Request as McpRequest
from pydantic import BaseModel, ConfigDict

from api.mcp_server.methods import EXTENSION, PAGE_SIZE, SETTINGS
from core.errors.auth import (
    InvalidToken,
    NotAuthenticated,
    OriginNotAllowed,
    PermissionDenied,
    SkillFileNotFound,
    SkillNotFound,
)
from core.errors.requests import InvalidPagination, InvalidRequest, MalformedJson, MethodNotAllowed, RequestTooLarge
from tests.fixtures.files.sample_files import zipped
from tests.fixtures.http.client import Api, check_error
from tests.fixtures.http.mcp_client import PATH, connect
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.skills.skill_texts import PACKAGED, REPORT, REVIEW

MODES = ("legacy", "auto")
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
PICTURE = b"\x89PNG\r\n\x1a\n\xff\x00"
GUIDE = "# 指南\r\n\nMultiply.\n"


class AnyResult(BaseModel):
    """A result of a method that the library does not know."""

    model_config = ConfigDict(extra="allow")


async def ask(client: Client, method: str, **params: Any) -> dict[str, Any]:
    request = McpRequest[dict[str, Any], str](method=method, params=params)
    answer = await client.session.send_request(request, AnyResult)
    return answer.model_dump()


async def list_skills(client: Client) -> dict[str, dict[str, Any]]:
    """All entries of all pages by their addresses."""
    found: dict[str, dict[str, Any]] = {}
    params: dict[str, str] = {}
    while True:
        answer = await ask(client, "skills/list", **params)
        assert len(answer["skills"]) <= PAGE_SIZE
        assert not found.keys() & {entry["uri"] for entry in answer["skills"]}
        found |= {entry["uri"]: entry for entry in answer["skills"]}
        if "nextCursor" not in answer:
            return found
        params = {"cursor": answer["nextCursor"]}


async def bytes_at(client: Client, uri: str) -> bytes:
    (content,) = (await client.read_resource(uri)).contents
    assert content.uri == uri
    is_blob = isinstance(content, BlobResourceContents)
    return b64decode(content.blob) if is_blob else content.text.encode()


def post_rpc(caller: Api, method: str, /, **params: Any) -> httpx.Response:
    """A request without the library, in the form of the older versions."""
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    headers = {"Accept": "application/json, text/event-stream"}
    return caller.request("POST", PATH, json=body, headers=headers)


def result(caller: Api, method: str, /, **params: Any) -> dict[str, Any]:
    answer = post_rpc(caller, method, **params)
    assert answer.status_code == 200, answer.text
    assert "result" in answer.json(), answer.text
    return answer.json()["result"]


def fault(answer: httpx.Response) -> dict[str, Any]:
    body = answer.json()
    assert set(body) == {"jsonrpc", "id", "error"}, answer.text
    return body["error"]


def make_folder(owner: Api) -> str:
    """A skill with files, of the owner's; its path in the API."""
    path = f"/skills/{owner.post('/skills', {'content': PACKAGED})['id']}"
    for name, content in (
        ("references/factors.md", GUIDE.encode()),
        ("assets/a picture#1 图.png", PICTURE),
    ):
        answer = owner.request("PUT", f"{path}/files/{name.replace('#', '%23')}", content=content)
        assert answer.status_code == 200, answer.text
    return path


def address(owner: Api, slug: str, path: str = "SKILL.md") -> str:
    return f"skill://{owner.name}/{slug}/{path}"


@pytest.mark.anyio
@one_shape
@pytest.mark.parametrize("mode", MODES)
async def test_client_finds_skills_and_reads_what_their_manifests_promise(server: Server, user: Api, mode: str):
    folder = make_folder(user)
    native = user.post("/skills", {"content": REPORT})
    async with connect(server, user, mode) as client:
        assert client.server_capabilities.resources is not None
        entries = await list_skills(client)
        for path, slug in ((folder, "unit-converter"), (f"/skills/{native['id']}", native["slug"])):
            uri = address(user, slug)
            entry = entries[uri]
            assert (await ask(client, "skills/get", uri=uri))["skill"] == entry
            export = user.request("GET", f"{path}/export", params={"format": "agent-skill"})
            with zipfile.ZipFile(io.BytesIO(export.content)) as archive:
                exported = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
            read = [await bytes_at(client, resource["uri"]) for resource in entry["resources"]]
            assert sorted(read) == sorted(exported.values())
            for resource, content in zip(entry["resources"], read, strict=True):
                assert resource["digest"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
                assert resource["size"] == len(content)
            assert entry["resources"][0]["uri"] == uri
            head = exported["SKILL.md"].split(b"---", 2)[1]
            assert entry["frontmatter"] == yaml.safe_load(head)
            assert entry["frontmatter"]["name"] == slug
        plain = {resource.uri: resource for resource in (await client.list_resources()).resources}
        shown = plain[address(user, "unit-converter")]
        assert (shown.name, shown.mime_type, shown.size) == (
            "unit-converter", "text/markdown", len(PACKAGED.encode()),
        )  # fmt: skip
        assert shown.description == entries[shown.uri]["frontmatter"]["description"]


@one_shape
def test_every_version_of_the_handshake_is_told_of_the_extension(server: Server, user: Api):
    for version in HANDSHAKES:
        client = {"name": "test", "version": "1"}
        told = result(user, "initialize", protocolVersion=version, capabilities={}, clientInfo=client)
        assert told["protocolVersion"] == version
        assert told["capabilities"]["extensions"] == {EXTENSION: SETTINGS}
        assert "resources" in told["capabilities"]
    # What came later is not told to them.
    assert set(result(user, "skills/list")) <= {"skills", "nextCursor"}


@pytest.mark.anyio
@one_shape
async def test_newest_version_is_told_of_the_extension_without_a_handshake(server: Server, user: Api):
    async with connect(server, user, "auto") as client:
        assert client.session.protocol_version == "2026-07-28"
        assert client.server_capabilities.extensions == {EXTENSION: SETTINGS}
        answer = await ask(client, "skills/list")
        assert (answer["resultType"], answer["ttlMs"], answer["cacheScope"]) == (
            "complete", 0, "private",
        )  # fmt: skip
        with pytest.raises(MCPError) as refused:
            await client.read_resource(address(user, "nothing"))
        assert refused.value.error.code == INVALID_PARAMS
        assert refused.value.error.data == {"code": 40410, "details": {}}


@one_shape
def test_many_skills_come_in_pages(server: Server, user: Api):
    text = "---\nname: s-{0}\ndescription: Use when a report of {0} is asked for.\n---\n# S\n\nWrite.\n"
    folders = {f"s-{n}/SKILL.md": text.format(n) for n in range(PAGE_SIZE + 5)}
    archive = ("skills.zip", zipped(folders))
    made = user.request("POST", "/skills/import", files=[("file", archive)]).json()["data"]
    assert len(made["items"]) == PAGE_SIZE + 5
    ids = ", ".join(f"'{item['skill']['id']}'" for item in made["items"])
    assert not [uri for uri in uris(user) if uri.startswith(f"skill://{user.name}/")]
    # As if each had been read and approved.
    server.sql(f"UPDATE skill_version SET unread = :no WHERE skill_id IN ({ids})", no=False)
    server.sql(f"UPDATE skill SET trusted = :yes WHERE id IN ({ids})", yes=True)
    for method, key in (("skills/list", "skills"), ("resources/list", "resources")):
        first = result(user, method)
        assert len(first[key]) == PAGE_SIZE
        rest = result(user, method, cursor=first["nextCursor"])
        found = [resource["uri"] for resource in (*first[key], *rest[key])]
        assert len(found) == len(set(found))
        assert {address(user, name.split("/")[0]) for name in folders} <= set(found)
    for cursor in ("nonsense", ""):
        told = fault(post_rpc(user, "skills/list", cursor=cursor))
        assert (told["code"], told["data"]["code"]) == (
            INVALID_PARAMS, InvalidPagination.code,
        )  # fmt: skip


def uris(caller: Api) -> list[str]:
    """The addresses of all pages."""
    page = result(caller, "skills/list")
    found = page["skills"]
    while "nextCursor" in page:
        page = result(caller, "skills/list", cursor=page["nextCursor"])
        found += page["skills"]
    return [entry["uri"] for entry in found]


def test_skill_of_somebody_else_is_absent_until_it_is_shared_and_as_soon_as_it_is_not(user: Api, other: Api):
    path = make_folder(user)
    mine, absent = address(user, "unit-converter"), address(user, "no-such-skill")
    file = address(user, "unit-converter", "references/factors.md")

    def is_absent() -> None:
        assert mine not in uris(other)
        for method in ("skills/get", "resources/read"):
            unknown = post_rpc(other, method, uri=absent).content
            assert post_rpc(other, method, uri=mine).content == unknown
            assert post_rpc(other, method, uri=file).content == unknown
        assert fault(post_rpc(other, "resources/read", uri=mine))["code"] == INVALID_PARAMS

    is_absent()
    user.put(f"{path}/shares", {"shares": [{"username": other.name}]})
    assert mine in uris(other)
    assert result(other, "resources/read", uri=file)["contents"][0]["text"] == GUIDE
    user.put(f"{path}/shares", {"shares": []})
    is_absent()
    user.put(path, {"is_public": True})
    assert result(other, "skills/get", uri=mine)["skill"]["uri"] == mine
    user.put(path, {"enabled": False})
    is_absent()
    assert mine not in uris(user)


def test_reader_is_served_the_published_version_and_its_owner_the_newest(user: Api, other: Api):
    skill = user.post("/skills", {"content": REPORT})
    path, uri = f"/skills/{skill['id']}", address(user, skill["slug"])
    user.put(path, {"is_public": True})
    # Wider tools wait for a review.
    wider = REPORT.replace("- search_knowledge_base", "- search_knowledge_base\n- send_mail")
    user.put(path, {"content": wider})
    for caller, content in ((other, REPORT), (user, wider)):
        text = result(caller, "resources/read", uri=uri)["contents"][0]["text"]
        assert text.endswith(content)
        entry = result(caller, "skills/get", uri=uri)["skill"]
        digest = hashlib.sha256(text.encode()).hexdigest()
        assert entry["resources"] == [{"uri": uri, "digest": f"sha256:{digest}", "size": len(text.encode())}]


@one_shape
def test_directories_list_what_lies_in_them(server: Server, user: Api):
    make_folder(user)
    root = address(user, "unit-converter").removesuffix("/SKILL.md")

    def names(path: str) -> dict[str, str]:
        found = result(user, "resources/directory/read", uri=f"{root}{path}")["resources"]
        assert all(entry["uri"].startswith(f"{root}{path}/") for entry in found)
        return {entry["name"]: entry["mimeType"] for entry in found}

    assert names("") == {
        "assets": "inode/directory",
        "references": "inode/directory",
        "unit-converter": "text/markdown",
    }
    assert names("/references") == {"factors.md": "text/markdown"}
    assert names("/assets") == {"a picture#1 图.png": "image/png"}
    for uri, error in (
        (f"{root}/SKILL.md", SkillFileNotFound),
        (f"{root}/ref", SkillFileNotFound),
        (f"{root}/", SkillFileNotFound),
        (f"{root}x", SkillNotFound),
    ):
        told = fault(post_rpc(user, "resources/directory/read", uri=uri))
        assert (told["code"], told["data"]["code"]) == (INVALID_PARAMS, error.code), uri
    told = fault(post_rpc(user, "resources/directory/read", uri=root, cursor="x"))
    assert told["data"]["code"] == InvalidPagination.code


def test_only_reading_a_skill_counts_as_loading_it(user: Api):
    path = make_folder(user)
    uri = address(user, "unit-converter")
    result(user, "skills/list")
    result(user, "skills/get", uri=uri)
    result(user, "resources/read", uri=address(user, "unit-converter", "references/factors.md"))
    assert user.get(path)["usage"]["loaded"] == 0
    result(user, "resources/read", uri=uri)
    result(user, "resources/read", uri=uri)
    assert user.get(path)["usage"]["loaded"] == 2


def test_credential_that_does_not_count_is_refused_at_once(server: Server, user: Api):
    made = user.post("/users/me/api-keys", {"name": "mcp", "scopes": ["skill:view"]})
    key = server.api(Authorization=f"Bearer {made['key']}")
    assert isinstance(uris(key), list)
    user.delete(f"/users/me/api-keys/{made['id']}")
    for caller, code in (
        (key, InvalidToken),
        (server.api(), NotAuthenticated),
    ):
        answer = post_rpc(caller, "skills/list")
        check_error(answer, code)
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    narrow = user.post("/users/me/api-keys", {"name": "mcp", "scopes": ["kb:view"]})
    told = fault(post_rpc(server.api(**{"X-API-Key": narrow["key"]}), "skills/list"))
    assert told["data"] == {"code": PermissionDenied.code, "details": {"permission": "skill:view"}}
    # A key that opens nothing here is not let in at all.
    foreign = user.post("/users/me/api-keys", {"name": "mcp", "scopes": ["calendar:view"]})
    for method in ("initialize", "ping", "skills/list", "tools/list"):
        answer = post_rpc(server.api(**{"X-API-Key": foreign["key"]}), method)
        assert check_error(answer, PermissionDenied) == {"permission": "skill:view"}


@one_shape
def test_what_is_no_message_is_refused_in_the_form_of_the_protocol(server: Server, user: Api):
    plain = {"Content-Type": "application/json", "Accept": "*/*"}
    for headers in (plain, {**plain, "MCP-Protocol-Version": "2026-07-28"}):
        for content, number, error in (
            (b"{", PARSE_ERROR, MalformedJson),
            (b'"\\ud800"', PARSE_ERROR, MalformedJson),
            (b"[" * 50_000, PARSE_ERROR, MalformedJson),
            (b"\xff", PARSE_ERROR, MalformedJson),
            (b"[]", INVALID_REQUEST, InvalidRequest),
            (b'{"jsonrpc": "2.0", "id": 1}', INVALID_REQUEST, InvalidRequest),
        ):
            answer = user.request("POST", PATH, content=content, headers=headers)
            assert answer.status_code == 400, content
            told = fault(answer)
            assert (told["code"], told["data"]["code"], answer.json()["id"]) == (
                number,
                error.code,
                None,
            )
            assert told["message"] == error.message
    for method, params, number in (
        ("prompts/list", {}, METHOD_NOT_FOUND),
        ("skills/nothing", {}, METHOD_NOT_FOUND),
        ("skills/get", {}, INVALID_PARAMS),
        ("skills/get", {"uri": 5}, INVALID_PARAMS),
        ("skills/get", {"uri": "file:///etc/passwd"}, INVALID_PARAMS),
        ("resources/read", {"uri": f"skill://{user.name}/%00/SKILL.md"}, INVALID_PARAMS),
        ("resources/read", {"uri": "skill://%00/x/../../SKILL.md"}, INVALID_PARAMS),
    ):
        assert fault(post_rpc(user, method, **params))["code"] == number, (method, params)
    chinese = {**plain, "Accept-Language": "zh-CN"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "skills/get", "params": {"uri": "x"}}
    answer = user.request("POST", PATH, content=json.dumps(message), headers=chinese)
    assert fault(answer)["message"] == SkillNotFound.message_zh
    check_error(user.request("GET", PATH), MethodNotAllowed)
    check_error(user.request("POST", PATH, data={"a": "b"}), InvalidRequest)
    large = b" " * (server.settings.max_request_bytes + 1)
    # With its length, and without.
    for content in (large, iter([large])):
        answer = user.request("POST", PATH, content=content, headers=plain)
        check_error(answer, RequestTooLarge)
    unknown = user.request("POST", PATH, json=message, headers={**plain, "MCP-Protocol-Version": "1999-01-01"})
    assert (unknown.status_code, "error" in unknown.json()) == (400, True)


@one_shape
def test_page_that_is_not_listed_is_refused(server: Server, user: Api):
    for origin in ("http://evil.example", "null"):
        # As a page whose name was made to lead here: its host is its own, too.
        headers = {"Origin": origin, "Host": "evil.example"}
        answer = user.request("POST", PATH, json={}, headers=headers)
        check_error(answer, OriginNotAllowed)


@one_shape
def test_skill_in_chinese_is_served_as_it_was_written(server: Server, user: Api):
    skill = user.post("/skills", {"content": REVIEW})
    (uri,) = [uri for uri in uris(user) if f"/{skill['slug']}/" in uri]
    text = result(user, "resources/read", uri=uri)["contents"][0]["text"]
    assert text.endswith(REVIEW)
    description = result(user, "skills/get", uri=uri)["skill"]["frontmatter"]["description"]
    assert "对提交的代码进行审查" in description
