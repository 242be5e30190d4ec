"""The last list of a repository's issues, kept so that pages of it that have not changed are not sent again."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ValidationError

_NAME = "issues.json"


class ListedIssue(BaseModel):
    """What the list says of an issue; ``version`` changes with it or its comments."""

    id: int
    number: int
    title: str
    state: str
    url: str
    version: str
    labels: str
    is_pull_request: bool


class ListedPage(BaseModel):
    """A page of the list: its entity tag, its issues, and the query that leads to the next one."""

    etag: str
    issues: tuple[ListedIssue, ...]
    next_query: dict[str, str]


class _StoredList(BaseModel):
    place: str
    pages: dict[str, ListedPage]


def load_pages(folder: Path, place: str) -> Mapping[str, ListedPage]:
    """The pages of a list by their queries; none where nothing can be read."""
    try:
        stored = _StoredList.model_validate_json((folder / _NAME).read_bytes())
    except (OSError, ValidationError):
        return {}
    return stored.pages if stored.place == place else {}


def store_pages(folder: Path, place: str, pages: Mapping[str, ListedPage]) -> None:
    """Keep a list; where the disk refuses, it is asked for again next time."""
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _NAME).write_text(_StoredList(place=place, pages=dict(pages)).model_dump_json(), encoding="utf-8")
