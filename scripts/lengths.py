"""Fails when a file or a function is longer than the house allows (CONTRIBUTING.md)."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

_FOLDERS = (
    *("core", "kb_service", "skills", "ingestion", "agents", "api", "cli"),
    *("migrations", "scripts", "benchmarks", "tests"),
)
_FILE_LINES = 400
_TEST_FILE_LINES = 600
_FUNCTION_LINES = 50


def find_long(root: Path) -> Iterator[str]:
    """Every file and function over its limit, as ``path:line: what``."""
    for folder in _FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            if "node_modules" not in path.parts:
                yield from _find_in_file(path, path.relative_to(root))


def _find_in_file(path: Path, shown: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    is_migration = shown.parts[:2] == ("migrations", "versions")
    limit = _TEST_FILE_LINES if shown.parts[0] == "tests" else _FILE_LINES
    if (lines := text.count("\n")) > limit:
        yield f"{shown}:1: file of {lines} lines, limit {limit}"
    # A migration is a generated record that nobody edits: its functions are as long as they are.
    for node in () if is_migration else ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            lines = node.end_lineno - node.lineno + 1
            if lines > _FUNCTION_LINES:
                yield f"{shown}:{node.lineno}: {node.name} has {lines} lines, limit {_FUNCTION_LINES}"


if __name__ == "__main__":
    problems = list(find_long(Path(__file__).resolve().parents[1]))
    sys.stdout.writelines(f"{problem}\n" for problem in problems)
    sys.exit(1 if problems else 0)
