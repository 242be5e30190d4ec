"""The last answer of a feed, kept so that one that has not changed is not sent again."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_NAME = "feed"


@dataclass(frozen=True)
class CachedFeed:
    """What an address answered: the address after redirects, the validators of the answer, and its bytes."""

    url: str
    validators: Mapping[str, str]
    body: bytes


def load_feed(folder: Path, asked_url: str) -> CachedFeed | None:
    """What is kept of an address; None if there is nothing, or nothing that can be read."""
    try:
        head, _, body = (folder / _NAME).read_bytes().partition(b"\n")
        fields: dict[str, Any] = json.loads(head)
        if fields["asked_url"] != asked_url or fields["size"] != len(body):
            return None
        return CachedFeed(fields["url"], fields["validators"], body)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def store_feed(folder: Path, asked_url: str, feed: CachedFeed) -> None:
    """Keep an answer; where the disk refuses, it is asked for again next time."""
    fields = {
        "asked_url": asked_url,
        "url": feed.url,
        "validators": dict(feed.validators),
        "size": len(feed.body),
    }
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _NAME).write_bytes(json.dumps(fields).encode() + b"\n" + feed.body)
