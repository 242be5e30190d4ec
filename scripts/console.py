"""Build of the console: ``python -m scripts.console build|check|packages|types``.

The built files are part of the checkout (``api/console``), so that a machine without Node serves them. ``build.json``
beside them holds a digest of the sources: a build that doesn't belong to them is found without Node.
"""

import argparse
import filecmp
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
WEB = ROOT / "web"
BUILT = ROOT / "api" / "console"
_MANIFEST = "build.json"
_TYPES = WEB / "src" / "api" / "schema.d.ts"
_SOURCE_FOLDERS = ("public", "src")
_STARTERS = ROOT / "skills" / "starters"
"""Texts that the console offers as beginnings of skills."""
_SOURCE_FILES = ("index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts")


def main() -> int:
    """Do what the command line says; 1 when something is stale or fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("build", "check", "packages", "types"))
    command = parser.parse_args().command
    if command == "check" and (stale := staleness()):
        print(stale, file=sys.stderr)  # noqa: T201 - a command's output
        return 1
    if shutil.which("npm") is None:
        print("No npm on PATH: the console's own checks are skipped.", file=sys.stderr)  # noqa: T201
        return 0 if command in {"check", "packages"} else 1
    _install()
    if command == "packages":
        return 0
    _write_types()
    match command:
        case "build":
            _run_script("build", BUILT)
            (BUILT / _MANIFEST).write_text(json.dumps({"sources": source_digest()}) + "\n")
        case "check":
            _run("npm", "run", "--silent", "check")
            _run("npm", "run", "--silent", "test")
            return _compare()
        case _:
            pass
    return 0


def source_digest() -> str:
    """SHA-256 of the names and contents of all sources."""
    files = [WEB / name for name in _SOURCE_FILES]
    for folder in _SOURCE_FOLDERS:
        files += [path for path in (WEB / folder).rglob("*") if path.is_file() and path != _TYPES]
    files += [path for path in _STARTERS.rglob("*") if path.suffix in {".md", ".json"}]
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path.relative_to(ROOT).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def staleness() -> str | None:
    """What is wrong with the built files; None if they belong to the sources."""
    manifest = BUILT / _MANIFEST
    if not manifest.is_file():
        return "The console is not built: run python -m scripts.console build"
    if json.loads(manifest.read_text())["sources"] != source_digest():
        return "The console's built files are older than its sources: run python -m scripts.console build"
    return None


def _install() -> None:
    lock = (WEB / "package-lock.json").read_bytes()
    stamp = WEB / "node_modules" / ".installed"
    digest = hashlib.sha256(lock).hexdigest()
    if not stamp.is_file() or stamp.read_text() != digest:
        _run("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error")
        stamp.write_text(digest)


def _write_types() -> None:
    """TypeScript's types of the API, from the document that the server gives out."""
    from api.app import create_app  # noqa: PLC0415 - slow, and needed by two of three commands
    from core.settings import Settings  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder, "openapi.json")
        document.write_text(json.dumps(create_app(Settings()).openapi()))
        _run("npx", "openapi-typescript", str(document), "--output", str(_TYPES))


def _run_script(name: str, folder: Path) -> None:
    _run("npm", "run", "--silent", name, variables={"CONSOLE_OUT": str(folder)})


def _compare() -> int:
    """Build again and compare: 1 when a file differs from the checkout's."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "console")
        # The types were checked just before.
        _run_script("bundle", folder)
        fresh, committed = _files(folder), _files(BUILT) - {_MANIFEST}
        different = sorted(fresh ^ committed)
        different += [name for name in sorted(fresh & committed) if not filecmp.cmp(folder / name, BUILT / name, False)]
    if different:
        print(f"The console's built files differ from a fresh build: {', '.join(different[:5])}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def _run(*command: str, variables: dict[str, str] | None = None) -> None:
    subprocess.run(command, cwd=WEB, check=True, env={**os.environ, **(variables or {})})


if __name__ == "__main__":
    sys.exit(main())
