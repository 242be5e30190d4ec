"""Addresses of skills over MCP: ``skill://<owner>/<slug>/<path of the file>`` (SEP-2640)."""

import base64
import json
from collections.abc import Sequence
from typing import cast
from urllib.parse import quote, unquote

from pydantic import JsonValue

from core.errors.auth import SkillNotFound
from core.errors.requests import InvalidPagination
from skills.transfer.folders import FolderPosition

TEMPLATE = "skill://{owner}/{skill}/{+path}"
_SCHEME = "skill://"
# Longer than the longest path with each of its letters encoded.
_LONGEST = 8000


def skill_uri(place: Sequence[str], path: str) -> str:
    """The ASCII address of a file; its authority is the owner, not a host."""
    return _SCHEME + "/".join(quote(part, safe="") for part in (*place, *path.split("/")))


def uri_segments(uri: str) -> list[str]:
    """The parts of a skill's address."""
    if not uri.startswith(_SCHEME) or len(uri) > _LONGEST:
        raise SkillNotFound
    return [unquote(part) for part in uri.removeprefix(_SCHEME).split("/")]


def encode_cursor(position: FolderPosition | None) -> str | None:
    """The cursor of a position in a list."""
    if position is None:
        return None
    cursor_text = json.dumps([position.slug, position.owner, position.id], ensure_ascii=False)
    return base64.urlsafe_b64encode(cursor_text.encode()).decode()


def decode_cursor(cursor: str | None) -> FolderPosition | None:
    """The position behind which a list continues."""
    if cursor is None:
        return None
    try:
        cursor_text: JsonValue = json.loads(base64.b64decode(cursor.encode(), altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        cursor_text = None
    if not isinstance(cursor_text, list) or [type(part) for part in cursor_text] != [str, str, str]:
        raise InvalidPagination(field="cursor", error="Give the nextCursor of the last answer")
    return FolderPosition(*cast(list[str], cursor_text))
