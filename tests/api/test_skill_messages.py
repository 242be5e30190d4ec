"""Messages of the skill API: in both languages, as the console shows them in the person's."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.fixtures.paths import ROOT

_PLACES = ("api/skills", "skills", "core/auth/sharing.py")
_HAS_BOTH = 3


def refusals() -> Iterator[tuple[Path, ast.Call]]:
    """Where the skill API refuses a field of a request."""
    for place in _PLACES:
        files = [ROOT / place] if place.endswith(".py") else sorted((ROOT / place).rglob("*.py"))
        for path in files:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "InvalidRequest":
                    yield path, node


def test_every_refusal_says_why_in_both_languages():
    found = list(refusals())
    assert len(found) > 10
    monolingual = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path, call in found
        if len(call.args) < _HAS_BOTH and not any(isinstance(argument, ast.Starred) for argument in call.args)
    ]
    assert monolingual == []
