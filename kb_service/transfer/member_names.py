"""The names of the parts inside the file of a knowledge base."""

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
    """Whether a part of this name has a place in the file; no other name is ever used."""
    return _KNOWN.fullmatch(name) is not None


def original(document: int) -> str:
    """The file that was uploaded."""
    return f"originals/{document:06}"


def documents(shard: int) -> str:
    """The documents of a shard, one JSON object a line."""
    return f"shards/{shard:06}/documents.jsonl"


def chunks(shard: int) -> str:
    """The chunks of a shard's documents, one JSON object a line."""
    return f"shards/{shard:06}/chunks.jsonl"


def array(shard: int, name: str) -> str:
    """One of the number arrays that hold a shard's points."""
    return f"shards/{shard:06}/{name}.npy"
