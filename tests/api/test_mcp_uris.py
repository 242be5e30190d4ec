"""Addresses and cursors of the MCP endpoint: what comes back is what was given."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.mcp_server.uris import cursor_of, position_of, segments_of, uri_of
from core.errors.auth import SkillNotFound
from core.errors.requests import InvalidPagination
from skills.packages.folder_view import Position

_NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@given(st.lists(_NAMES, min_size=2, max_size=3), st.lists(_NAMES, min_size=1, max_size=4))
def test_addresses_are_ascii_and_are_read_back(place: list[str], parts: list[str]):
    path = "/".join(part.replace("/", "") for part in parts)
    uri = uri_of(place, path)
    assert uri.isascii()
    assert not set(uri.removeprefix("skill://")) & set(" ?#@:")
    assert segments_of(uri) == [*place, *path.split("/")]


@pytest.mark.parametrize("uri", ["", "skill:", "skill:/a/b", "file:///etc/passwd", "SKILL://a/b"])
def test_other_addresses_are_those_of_no_skill(uri: str):
    with pytest.raises(SkillNotFound):
        segments_of(uri)
    with pytest.raises(SkillNotFound):
        segments_of("skill://" + "a" * 10_000)


@given(_NAMES, _NAMES, _NAMES)
def test_cursors_are_read_back(slug: str, owner: str, id_: str):
    position = Position(slug, owner, id_)
    assert position_of(cursor_of(position)) == position


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    ["", "!", "é", "abc", base64.b64encode(b"\xff").decode(), encoded({}), encoded(["a", "b"]), encoded(["a", "b", 1]), encoded("[" * 9)],
)  # fmt: skip
def test_other_cursors_are_refused(cursor: str):
    with pytest.raises(InvalidPagination):
        position_of(cursor)


def test_no_cursor_is_the_beginning():
    assert position_of(None) is None
    assert cursor_of(None) is None
