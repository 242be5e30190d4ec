"""Addresses and cursors of the MCP endpoint, there and back."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.mcp_server.uris import decode_cursor, encode_cursor, skill_uri, uri_segments
from core.errors.auth import SkillNotFound
from core.errors.requests import InvalidPagination
from skills.transfer.folders import FolderPosition

_NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@given(st.lists(_NAMES, min_size=2, max_size=3), st.lists(_NAMES, min_size=1, max_size=4))
def test_addresses_are_ascii_and_are_read_back(place: list[str], parts: list[str]):
    path = "/".join(part.replace("/", "") for part in parts)
    uri = skill_uri(place, path)
    assert uri.isascii()
    assert not set(uri.removeprefix("skill://")) & set(" ?#@:")
    assert uri_segments(uri) == [*place, *path.split("/")]


@pytest.mark.parametrize("uri", ["", "skill:", "skill:/a/b", "file:///etc/passwd", "SKILL://a/b"])
def test_other_addresses_are_those_of_no_skill(uri: str):
    with pytest.raises(SkillNotFound):
        uri_segments(uri)
    with pytest.raises(SkillNotFound):
        uri_segments("skill://" + "a" * 10_000)


@given(_NAMES, _NAMES, _NAMES)
def test_cursors_are_read_back(slug: str, owner: str, id_: str):
    position = FolderPosition(slug, owner, id_)
    assert decode_cursor(encode_cursor(position)) == position


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    ["", "!", "é", "abc", base64.b64encode(b"\xff").decode(), encoded({}), encoded(["a", "b"]), encoded(["a", "b", 1]), encoded("[" * 9)],
)  # fmt: skip
def test_other_cursors_are_refused(cursor: str):
    with pytest.raises(InvalidPagination):
        decode_cursor(cursor)


def test_no_cursor_is_the_beginning():
    assert decode_cursor(None) is None
    assert encode_cursor(None) is None
