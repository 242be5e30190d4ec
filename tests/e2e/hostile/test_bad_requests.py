"""Malformed requests: the documented error in the envelope, before any work."""

import gzip
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from core.errors.auth import DocumentNotFound, KnowledgeBaseNotFound, NotAuthenticated, NotFound, SessionNotFound
from core.errors.requests import InvalidRequest, InvalidRunInput, MalformedJson, MethodNotAllowed, RequestTooLarge
from tests.fixtures.http.client import Api, check_error
from tests.fixtures.http.multipart import connection, head, read_status
from tests.fixtures.product.server import Server, one_shape

JSON = {"Content-Type": "application/json"}
DEEP = b'{"name":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
LIMIT = 4 * 2**20


@one_shape
@pytest.mark.parametrize(
    "content",
    [b"{", b"", b"nonsense", b"{'name': 1}", b'{"name": "a",}', b"\xff\xfe\x00", b"\x00", DEEP,
     b'{"name": "\xff"}', b'{"name": ' + b"9" * 5000 + b"}"],
)  # fmt: skip
def test_malformed_json_is_401_before_authentication_and_40002_after(server: Server, someone: Api, content: bytes):
    path = "/knowledge-bases"
    options: dict[str, Any] = {"content": content, "headers": JSON}
    server.api().refused(NotAuthenticated, "POST", path, **options)
    before = server.count("knowledge_base", owner_id=someone.user_id)
    answer = someone.request("POST", path, **options)
    expected = MalformedJson if content else InvalidRequest
    check_error(answer, expected)
    assert server.count("knowledge_base", owner_id=someone.user_id) == before


@one_shape
@pytest.mark.parametrize("path", ["/auth/login", "/auth/register", "/auth/refresh"])
def test_malformed_json_on_an_open_route_is_40002(server: Server, path: str):
    for content in (b"{", DEEP, b"\xff"):
        server.api().refused(MalformedJson, "POST", path, content=content, headers=JSON)


@one_shape
def test_body_of_another_type_or_shape_is_refused(someone: Api):
    path = "/knowledge-bases"
    for content_type in ("text/plain", "application/xml", "application/x-www-form-urlencoded", ""):
        headers = {"Content-Type": content_type}
        content = b'{"name": "x"}'
        someone.refused(InvalidRequest, "POST", path, content=content, headers=headers)
    for body in ([], "text", 7, None, True, [{"name": "x"}]):
        someone.refused(InvalidRequest, "POST", path, json=body)


LOW, HIGH = "must not be empty", "Input should have at most {} characters"
SINGLE = "Input should be true or false, a number or a string"
KB = "/knowledge-bases/none"


@one_shape
@pytest.mark.parametrize(
    ("path", "body", "field", "error"),
    [
        (f"{KB}/search", {"query": "x", "filters": {"metadata": {"year": {}}}},
         "filters.metadata.year", "needs one of gt, gte, lt, lte"),
        (f"{KB}/search", {"query": "x", "filters": {"metadata": {"year": {"bool": 1}}}},
         "filters.metadata.year.bool", "Extra inputs are not permitted"),
        (f"{KB}/search", {"query": "x", "filters": {"metadata": {"year": [[1]]}}},
         "filters.metadata.year.0", SINGLE),
        (f"{KB}/search", {"query": "x", "filters": {"metadata": {"year": None}}},
         "filters.metadata.year", SINGLE.replace("be ", "be an object, a list, ")),
        (f"{KB}/search", {"query": "x", "filters": {"metadata": {"year": []}}},
         "filters.metadata.year", LOW),
        (f"{KB}/search", {"query": "x", "filters": {"metadata": {"year": "\x00"}}},
         "filters.metadata.year", "must not contain the character NUL"),
        (f"{KB}/search", {"query": "x", "filters": {"metadata": {"year": {"gt": [1]}}}},
         "filters.metadata.year.gt", "Input should be a number or a string"),
        (f"{KB}/search", {"query": "x", "filters": []}, "filters", "Input should be an object"),
        (f"{KB}/search", {"query": "x", "filters": {"metadata": {"": 1}}}, "filters.metadata", LOW),
        (f"{KB}/search", {"query": "x", "filters": {"name": ""}}, "filters.name", LOW),
        (f"{KB}/search", {"query": "a\x00"}, "query", "must not contain the character NUL"),
        (f"{KB}/search", {"queries": "x"}, "query", "Field required"),
        (f"{KB}/search?page=1", [], "body", "Input should be an object"),
        (f"{KB}/documents/bulk", {"action": "retry"}, "body", "send either document_ids or status"),
        (f"{KB}/documents/bulk", {"action": "retry", "document_ids": []}, "document_ids", LOW),
        (f"{KB}/documents/bulk", {"action": "retry", "document_ids": ["a", "b" * 65]},
         "document_ids.1", HIGH.format(64)),
        ("/users/me/api-keys", {"name": ""}, "name", LOW),
        ("/knowledge-bases", {"name": "x" * 201}, "name", HIGH.format(200)),
    ],
)  # fmt: skip
def test_refusal_names_the_field_and_the_rule_as_the_request_spells_them(
    someone: Api, path: str, body: object, field: str, error: str
):
    details = someone.refused(InvalidRequest, "POST", path, json=body)
    assert (details["field"], details["error"]) == (field, error)


@one_shape
@pytest.mark.parametrize(
    ("path", "body", "error"),
    [
        (f"{KB}/search", {"queries": "x"}, "缺少该字段"),
        (f"{KB}/search", {"query": "x", "top": 1}, "没有这个字段"),
        (f"{KB}/search", {"query": "x", "top_k": 0}, "不能小于 1"),
        (f"{KB}/search", {"query": "x", "expand": "all"}, "可用的值：'none'、'section'"),
        (f"{KB}/search", {"query": "x", "filters": []}, "应为对象"),
        (f"{KB}/search", {"query": "x", "filters": {"metadata": {"year": None}}},
         "应为以下之一：对象、列表、true 或 false、数字、文本"),
        (f"{KB}/documents/bulk", {"action": "retry", "document_ids": []}, "不能为空"),
        ("/knowledge-bases", {"name": "x" * 201}, "最多 200 个字符"),
        ("/knowledge-bases", {"name": " "}, "名称不能为空"),
        (f"{KB}/search", {"query": "a\x00"}, "不能包含 NUL 字符"),
        (f"{KB}/search", {"query": "x", "filters": {"metadata": {"year": {}}}},
         "至少需要 gt、gte、lt、lte 之一"),
        (f"{KB}/search", {"query": "x", "filters": {"created": {"since": "x"}}},
         "请使用日期或时间，例如 2026-03-17T09:00:00Z"),
        (f"{KB}/search/why", {"query": "x"}, "需要 chunk_id，或 document_id 和 text"),
        (f"{KB}/documents/bulk", {"action": "retry"}, "请给出 document_ids 或 status 之一"),
        ("/knowledge-bases", {"name": "x", "chunk_size": 5}, "应为 32 到 2000 个 token"),
    ],
)  # fmt: skip
def test_refusal_names_the_rule_in_chinese_too(someone: Api, path: str, body: object, error: str):
    details = someone.refused(InvalidRequest, "POST", path, json=body)
    assert details["error_zh"] == error


@one_shape
def test_packed_body_is_not_unpacked(someone: Api):
    headers = {**JSON, "Content-Encoding": "gzip"}
    content = gzip.compress(b'{"name": "' + b"x" * 10**7 + b'"}')
    path = "/knowledge-bases"
    someone.refused(MalformedJson, "POST", path, content=content, headers=headers)


def blocks(size: int) -> Iterator[bytes]:
    yield b'{"name": "'
    for _ in range(size // 65536):
        yield b"x" * 65536
    yield b'"}'


@one_shape
@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "multipart/form-data; boundary=x"])
@pytest.mark.parametrize("path", ["/auth/login", "/knowledge-bases"])
def test_body_over_the_limit_is_refused_on_every_route(someone: Api, content_type: str, path: str):
    headers = {"Content-Type": content_type}
    options: dict[str, Any] = {"headers": headers, "content": b"x" * (LIMIT + 1)}
    someone.refused(RequestTooLarge, "POST", path, **options)
    options["content"] = blocks(2 * LIMIT)
    someone.refused(RequestTooLarge, "POST", path, **options)


@one_shape
def test_many_keys_are_refused_quickly(someone: Api):
    started = time.monotonic()
    body = {f"key{number}": number for number in range(10_000)}
    someone.refused(InvalidRequest, "POST", "/knowledge-bases", json=body)
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    "content",
    [
        b'{"name": "\\ud800"}',
        b'{"\\ud800": 1}',
        b'{"name": "a", "\\udfff": "x"}',
        b'{"name": "a\\u0000"}',
        b'{"name": "a", "\\u0000": 1}',
        b'{"name": "a", "chunk_size": 1e999}',
        b'{"name": "a", "chunk_size": NaN}',
        b'{"name": "a", "chunk_size": 9223372036854775808}',
        b'{"name": "a", "chunk_size": -9223372036854775809}',
        b'{"name": "a", "description": "\\ud83d"}',
    ],
)
def test_half_characters_nul_and_huge_numbers_are_refused(someone: Api, content: bytes):
    path = "/knowledge-bases"
    someone.refused(InvalidRequest, "POST", path, content=content, headers=JSON)


def test_half_character_in_any_text_of_any_body_is_refused(someone: Api):
    kb_id = someone.create_kb()
    bodies = {
        "/auth/login": b'{"username": "\\ud800", "password": "x"}',
        "/auth/register": b'{"username": "abc", "email": "\\ud800@b.co", "password": "abcdefg1"}',
        "/auth/refresh": b'{"refresh_token": "\\ud800"}',
        "/users/me/api-keys": b'{"name": "\\ud800"}',
        f"/knowledge-bases/{kb_id}/search": b'{"query": "\\ud800"}',
        "/search": b'{"query": "x", "knowledge_base_ids": ["\\ud800"]}',
        "/sessions": b'{"title": "\\ud800"}',
    }
    for path, content in bodies.items():
        answer = someone.request("POST", path, content=content, headers=JSON)
        assert answer.status_code in {400, 401}, (path, answer.text)
        assert set(answer.json()) == {"code", "message", "details"}


@pytest.mark.parametrize(
    "thread_id", [b'"\\u0000"', b'"a\\u0000b"', b'"\\ud800"', b'""', b"7", b"null", b'"%s"' % (b"x" * 5000)]
)  # fmt: skip
def test_thread_that_there_can_not_be_is_not_joined(someone: Api, thread_id: bytes):
    content = b'{"threadId": %s}' % thread_id
    code = InvalidRunInput
    details = someone.refused(code, "POST", "/agent/connect", content=content, headers=JSON)
    assert details["field"] == "threadId"


def test_longest_names_fit_into_every_database(someone: Api):
    # One such letter becomes eighteen when it is folded for comparison.
    for letter in ("ﷺ", "ß", "字", "🙂"):
        answer = someone.request("POST", "/knowledge-bases", json={"name": letter * 200})
        assert answer.status_code in {200, 400}, answer.text
        mail = f"{'ﷺ' * 60}@{letter * 60}.com"
        body = {"username": "abc", "email": mail, "password": "Password123"}
        answer = someone.request("POST", "/auth/register", json=body)
        assert answer.status_code in {200, 400, 409}, answer.text


@pytest.mark.parametrize("value", ["%00", "a%00b", "%ED%A0%80", "..%2f..%2fetc%2fpasswd", "%F0%28"])
def test_odd_ids_in_a_path_are_not_found_or_refused(someone: Api, value: str):
    for path in (f"/knowledge-bases/{value}", f"/sessions/{value}", f"/users/me/api-keys/{value}"):
        method = "DELETE" if "api-keys" in path else "GET"
        answer = someone.request(method, path)
        assert answer.status_code in {400, 404}, answer.text
        assert set(answer.json()) == {"code", "message", "details"}
    for path in (f"{value}/a", f"a/{value}", f"{value}/{value}"):
        answer = someone.request("DELETE", f"/agent/session/{someone.user_id}/{path}")
        assert answer.status_code in {400, 404}, answer.text
        assert set(answer.json()) == {"code", "message", "details"}


def test_unknown_paths_and_methods_answer_in_the_envelope(server: Server, someone: Api):
    someone.refused(NotFound, "GET", "/no/such/path")
    someone.refused(MethodNotAllowed, "PATCH", "/users/me")
    someone.refused(MethodNotAllowed, "TRACE", "/users/me")
    someone.refused(MethodNotAllowed, "DELETE", "/knowledge-bases")
    server.api().refused(NotAuthenticated, "GET", "/no/such/path")
    server.api().refused(MethodNotAllowed, "GET", "/auth/login")
    slash = someone.request("GET", "/knowledge-bases/")
    check_error(slash, NotFound)


def test_unknown_ids_are_not_found(someone: Api):
    kb_id, nothing = someone.create_kb(), str(uuid4())
    missing_kb, missing = KnowledgeBaseNotFound, DocumentNotFound
    someone.refused(missing_kb, "GET", f"/knowledge-bases/{nothing}")
    someone.refused(missing_kb, "PUT", f"/knowledge-bases/{nothing}", json={"name": "x"})
    someone.refused(missing_kb, "DELETE", f"/knowledge-bases/{nothing}")
    someone.refused(missing_kb, "GET", f"/knowledge-bases/{nothing}/documents")
    body = {"query": "x"}
    someone.refused(missing_kb, "POST", f"/knowledge-bases/{nothing}/search", json=body)
    body = {"query": "x", "knowledge_base_ids": [kb_id, nothing]}
    someone.refused(missing_kb, "POST", "/search", json=body)
    someone.refused(missing, "GET", f"/knowledge-bases/{kb_id}/documents/{nothing}")
    someone.refused(missing, "DELETE", f"/knowledge-bases/{kb_id}/documents/{nothing}")
    someone.refused(SessionNotFound, "GET", f"/sessions/{nothing}")


def test_every_answer_has_safe_headers_and_a_request_id(server: Server, someone: Api):
    answers: list[httpx.Response] = [
        someone.request("GET", "/users/me"),
        someone.request("GET", "/no/such/path"),
        server.api().request("GET", "/users/me"),
        someone.request("POST", "/knowledge-bases", content=b"{", headers=JSON),
        someone.request("POST", "/auth/login", content=b"x" * (LIMIT + 1), headers=JSON),
    ]
    for answer in answers:
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Request-ID"]
        assert answer.headers["Content-Type"] == "application/json"
    given = {"X-Request-ID": "my-request:1"}
    assert someone.request("GET", "/users/me", headers=given).headers["X-Request-ID"] == "my-request:1"
    odd = {"X-Request-ID": 'x" y' + "z" * 200}
    assert "z" not in someone.request("GET", "/users/me", headers=odd).headers["X-Request-ID"]


def test_bytes_that_are_not_http_leave_the_server_well(server: Server, someone: Api):
    host = f"{server.settings.host}:{server.settings.port}"
    for data in (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
        b"GET / HTTP/9.9\r\n\r\n",
        head("GET", "/api/v1/users/me", {"Host": host, "X-Long": "x" * 200_000}),
        head("GET", "/api/v1/" + "x" * 100_000, {"Host": host}),
    ):
        with connection(server) as link:
            try:
                link.sendall(data)
                assert read_status(link) in {0, 400, 401, 414, 431}
            except OSError:
                continue
    assert someone.get("/users/me")["id"]
