"""Names of the members of a knowledge base archive."""

import re

from kb_service.transfer.arrays import NAMES

MANIFEST = "manifest.json"
QUESTIONS = "questions.jsonl"
_ARRAYS = "|".join(NAMES)
_KNOWN = re.compile(
    rf"manifest\.json|questions\.jsonl|originals/\d{{6}}"
    rf"|shards/\d{{6}}/(?:documents\.jsonl|chunks\.jsonl|(?:{_ARRAYS})\.npy)",
    re.ASCII,
)


def is_known(name: str) -> bool:
    """Whether the name has a place in the archive; no other name is ever used."""
    return _KNOWN.fullmatch(name) is not None


def original(document: int) -> str:
    """An uploaded file."""
    return f"originals/{document:06}"


def documents(shard: int) -> str:
    """A shard's documents, one JSON object per line."""
    return f"shards/{shard:06}/documents.jsonl"


def chunks(shard: int) -> str:
    """The chunks of a shard's documents, one JSON object per line."""
    return f"shards/{shard:06}/chunks.jsonl"


def array(shard: int, name: str) -> str:
    """One of a shard's point arrays."""
    return f"shards/{shard:06}/{name}.npy"
