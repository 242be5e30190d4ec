"""Check for banned identifiers and for class names in more than one module.

Run as ``python scripts/names.py``; part of ``make check``. docs/glossary.md explains the words.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

_PRODUCT = ("agentex", "core", "kb_service", "skills", "ingestion", "agents", "rules", "api", "cli")
# Tests and benchmarks of before the rule still hold such names; new ones should not.
_FOLDERS = (*_PRODUCT, "scripts")
_CLASS_FOLDERS = (*_PRODUCT, "benchmarks")

BANNED = frozenset(
    [
        "one",
        "told",
        "said",
        "wanted",
        "asked",
        "found",
        "known",
        "taken",
        "given",
        "shown",
        "kept",
        "named",
        "seen",
        "meant",
        "held",
        "desk",
        "bench",
        "workbench",
        "shelf",
        "belongings",
        "fate",
    ]
)
"""Participles and household words: say what the thing is, by the noun of its collection."""

_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.MatchAs, ast.MatchStar)

_HOUSEHOLD = re.compile(
    r"(Desk|Workbench|Shelf|Belongings|Fate|Means|Ground|Companions|Holdings|Wanted|Told|Said|Given)$"
)

SHARED_CLASSES = {
    "_Reader": "private to a module each",
}
"""Class names that may stand in several modules, each with the reason."""


def find_names(root: Path) -> Iterator[str]:
    """Every banned name, as ``path:line: what``."""
    classes: defaultdict[str, list[str]] = defaultdict(list)
    for path in _files(root, (*_FOLDERS, "benchmarks")):
        relative_path = path.relative_to(root)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for line, name in _bound_names(tree) if relative_path.parts[0] in _FOLDERS else ():
            if name.strip("_") in BANNED:
                yield f"{relative_path}:{line}: {name} says nothing; take the noun of what it holds"
        if relative_path.parts[0] in _CLASS_FOLDERS:
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    classes[node.name].append(f"{relative_path}:{node.lineno}")
                    if _HOUSEHOLD.search(node.name):
                        yield f"{relative_path}:{node.lineno}: class {node.name} does not say what it is"
    for name, places in sorted(classes.items()):
        if len(places) > 1 and name not in SHARED_CLASSES:
            yield f"{places[0]}: class {name} stands in {', '.join(places[1:])} too"


def find_unused_permissions(root: Path) -> Iterator[str]:
    """Names of ``SHARED_CLASSES`` that are no longer in several modules."""
    counts: defaultdict[str, int] = defaultdict(int)
    for path in _files(root, _PRODUCT):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                counts[node.name] += 1
    for name in SHARED_CLASSES:
        if counts[name] < 2:
            yield f"scripts/names.py: {name} stands in one module only; remove it from SHARED_CLASSES"


def _files(root: Path, folders: Iterable[str]) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            if "node_modules" not in path.parts and not path.name.endswith("_pb2.py"):
                yield path


def _bound_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, _NAMED) and node.name:
            yield node.lineno, node.name


if __name__ == "__main__":
    top = Path(__file__).resolve().parents[1]
    problems = [*find_names(top), *find_unused_permissions(top)]
    sys.stdout.writelines(f"{problem}\n" for problem in problems)
    sys.exit(1 if problems else 0)
