"""The console's own words, as its catalogues have them."""

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from tests.fixtures.paths import ROOT

Words = Callable[..., str]
"""``words("editor.save")`` gives a text of an area; ``words("common:action.save")`` one that all areas share."""


def words_of(language: str, area: str) -> Words:
    """The words of an area of the console; values take the places of ``{{names}}``, ``count`` chooses the plural."""

    def words(key: str, **values: object) -> str:
        named, _, path = key.rpartition(":")
        text: Any = _catalogue(language, named or area)
        *parents, last = path.split(".")
        for part in parents:
            text = text[part]
        plural = f"{last}_{'one' if values.get('count') == 1 and language == 'en' else 'other'}"
        text = text[last] if last in text else text[plural]
        return re.sub(r"\{\{(\w+)\}\}", lambda match: str(values[match[1]]), text)

    return words


@cache
def _catalogue(language: str, area: str) -> dict[str, Any]:
    return json.loads((ROOT / "web" / "src" / "i18n" / language / f"{area}.json").read_text())
