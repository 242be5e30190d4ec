"""Limits on the length of files and functions (CONTRIBUTING.md)."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

_FOLDERS = (
    *("agentex", "core", "kb_service", "skills", "ingestion", "agents", "rules", "api", "cli"),
    *("migrations", "scripts", "benchmarks", "tests"),
)
_FILE_LINES = 700
_TEST_FILE_LINES = 900
_COMFORTABLE_LINES = 500
_FUNCTION_LINES = 60


def find_long(root: Path) -> Iterator[str]:
    """Every file and function over its limit, as ``path:line: what``."""
    for path in _files(root):
        yield from _find_in_file(path, path.relative_to(root))


def find_uncomfortable(root: Path) -> Iterator[str]:
    """Every product file that is within its limit but uncomfortably long."""
    for path in _files(root):
        lines = path.read_text(encoding="utf-8").count("\n")
        relative_path = path.relative_to(root)
        if relative_path.parts[0] != "tests" and _COMFORTABLE_LINES < lines <= _FILE_LINES:
            yield f"{relative_path}:1: warning: file of {lines} lines, {_COMFORTABLE_LINES} are comfortable"


def _files(root: Path) -> Iterator[Path]:
    for folder in _FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            if "node_modules" not in path.parts:
                yield path


def _find_in_file(path: Path, relative_path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    is_migration = relative_path.parts[:2] == ("migrations", "versions")
    limit = _TEST_FILE_LINES if relative_path.parts[0] == "tests" else _FILE_LINES
    if (lines := text.count("\n")) > limit:
        yield f"{relative_path}:1: file of {lines} lines, limit {limit}"
    # A migration is a generated record that nobody edits, so its functions have no limit.
    for node in () if is_migration else ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            lines = node.end_lineno - node.lineno + 1
            if lines > _FUNCTION_LINES:
                yield f"{relative_path}:{node.lineno}: {node.name} has {lines} lines, limit {_FUNCTION_LINES}"


if __name__ == "__main__":
    top = Path(__file__).resolve().parents[1]
    problems = list(find_long(top))
    sys.stdout.writelines(f"{line}\n" for line in [*find_uncomfortable(top), *problems])
    sys.exit(1 if problems else 0)
