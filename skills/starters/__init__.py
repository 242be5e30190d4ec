"""Starters: skills that come with Agentex, in English and Chinese, with requests to try them on.

Each folder here is one; it is found by being there.
"""

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
    """A skill that comes with Agentex, in one language.

    Args:
        key: the folder's name, the same in all languages.
        language: ``en`` or ``zh``.
        content: the bytes of the skill.
        triggers: requests in that language to try it on.
    """

    key: str
    language: str
    content: bytes
    triggers: tuple[TriggerCase, ...]


@cache
def starters(language: str) -> tuple[Starter, ...]:
    """The starters in one language, by key.

    Args:
        language: one of ``LANGUAGES``; for any other the English ones are given.
    """
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
