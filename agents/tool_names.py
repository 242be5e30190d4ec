"""Tools by name: names in the alphabet that every language model endpoint takes, and tools that are left out."""

import hashlib
import re
from dataclasses import dataclass

LONGEST_NAME = 64
"""Characters that all endpoints accept: letters, digits, ``_`` and ``-``."""
_DIGEST = 6
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]+")


def portable_name(name: str, longest: int = LONGEST_NAME) -> str:
    """The name itself if every endpoint takes it, else a likeness that carries a digest and so stays unique."""
    cleaned = _FOREIGN.sub("_", name).strip("_") if _FOREIGN.search(name) else name
    return name if name and cleaned == name and len(name) <= longest else marked_name(cleaned, name, longest)


def marked_name(cleaned: str, name: str, longest: int) -> str:
    """The cleaned name with a digest of the real one, in so many characters."""
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:_DIGEST]
    start = cleaned[: longest - _DIGEST - 1].rstrip("_")
    return f"{start}_{digest}" if start else digest


@dataclass(frozen=True, slots=True)
class LeftOutTool:
    """A tool that its owner lists and agents don't get, with the reason; a nameless one is ``#3`` by its place."""

    name: str
    reason: str
    reason_zh: str
