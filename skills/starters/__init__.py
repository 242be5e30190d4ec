"""Starters: skills that come with Agentex in English and Chinese, with sample requests; one per folder."""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

LANGUAGES = ("en", "zh")


@dataclass(frozen=True)
class TriggerCase:
    """A request, and whether the skill should be chosen for it."""

    query: str
    should_trigger: bool


@dataclass(frozen=True)
class Starter:
    """A starter in one language (``en`` or ``zh``); all languages share its key, the folder's name."""

    key: str
    language: str
    content: bytes
    triggers: tuple[TriggerCase, ...]


@cache
def starters(language: str) -> tuple[Starter, ...]:
    """The starters by key in one of ``LANGUAGES``; for any other language the English ones."""
    chosen = language if language in LANGUAGES else LANGUAGES[0]
    folders = (entry for entry in files(__name__).iterdir() if entry.joinpath("en.md").is_file())
    return tuple(
        Starter(
            folder.name,
            chosen,
            folder.joinpath(f"{chosen}.md").read_bytes(),
            tuple(
                TriggerCase(case["query"], case["should_trigger"])
                for case in json.loads(folder.joinpath("triggers.json").read_bytes())[chosen]
            ),
        )
        for folder in sorted(folders, key=lambda folder: folder.name)
    )
