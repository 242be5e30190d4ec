"""REF001 to REF004: links of a skill checked against the files beside it."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from urllib.parse import unquote

from skills.diagnostics import Finding
from skills.lint.context import LintContext
from skills.lint.scanner import ScannedText, Span, scan
from skills.parser.draft import SkillDraft

_LINK = re.compile(
    r"\]\([ \t]{0,8}(?:<(?P<angled>[^<>\n]{1,500})>|(?P<plain>[^\s()<>]{1,500}))"
    r"|^[ ]{0,3}\[[^\]\n]{1,200}\]:[ \t]{0,8}<?(?P<defined>[^\s<>]{1,500})"
    r"|<(?:img|a|source|video|audio)\s[^<>]{0,300}?(?:src|href)[ ]{0,4}=[ ]{0,4}[\"']?"
    r"(?P<attribute>[^\s\"'<>]{1,500})",
    re.IGNORECASE | re.MULTILINE,
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_LIKENESS = 0.7
# Each one is compared with all files.
_MOST_SUGGESTIONS = 10
_SKILL_FILES = frozenset({"SKILL.md", "skill.md"})


@dataclass(frozen=True, slots=True)
class _Link:
    span: Span
    path: str
    is_inside: bool


def check(draft: SkillDraft, context: LintContext) -> Iterable[Finding]:
    """Broken, outside or too deep links, and unused files; nothing if the files are not known."""
    files = context.files
    if files is None:
        return
    scanned = scan(draft)
    paths = {path: path for path in files}
    folders = {path[:at] for path in files for at, sign in enumerate(path) if sign == "/"}
    missing = 0
    for link in _links(scanned):
        if not link.is_inside:
            yield scanned.finding("REF002", link.span, {"path": link.path})
        elif link.path not in paths and link.path not in folders:
            missing += 1
            yield _broken(scanned, link, paths if missing <= _MOST_SUGGESTIONS else {})
        elif link.path.count("/") > 1:
            yield scanned.finding("REF003", link.span, {"path": link.path})
    yield from _unused(scanned, files)


def _links(scanned: ScannedText) -> Iterator[_Link]:
    for match in _LINK.finditer(scanned.prose):
        name = match.lastgroup or "plain"
        target = match[name]
        if target.startswith(("#", "//")) or "{{" in target:
            continue
        if _SCHEME.match(target) and not target.lower().startswith("file:"):
            continue
        path, is_inside = _resolve(target)
        if path or not is_inside:
            yield _Link(match.span(name), path, is_inside)


def _resolve(target: str) -> tuple[str, bool]:
    path = unquote(re.split(r"[#?]", target, maxsplit=1)[0]).replace("\\", "/")
    if path.startswith("/") or _SCHEME.match(path):
        return path, False
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return path, False
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts), True


def _broken(scanned: ScannedText, link: _Link, paths: Mapping[str, str]) -> Finding:
    by_name = [path for path in paths if path.rsplit("/", 1)[-1] == link.path.rsplit("/", 1)[-1]]
    folded = [path for path in paths if path.casefold() == link.path.casefold()]
    close = get_close_matches(link.path, paths, n=1, cutoff=_LIKENESS)
    suggestion = next(iter([*folded, *by_name, *close]), None)
    if suggestion is None:
        return scanned.finding("REF001", link.span, {"path": link.path})
    facts = {"path": link.path, "meant": suggestion}
    edit = scanned.edit(link.span, suggestion.replace(" ", "%20"))
    return replace(scanned.finding("REF001", link.span, facts, "meant"), edits=(edit,))


def _unused(scanned: ScannedText, files: Collection[str]) -> Iterator[Finding]:
    text = unquote(scanned.text)
    # Whoever names a folder names the one at the top as well, so that no other is looked for.
    tops = {path.partition("/")[0] for path in files if "/" in path}
    named_tops = {top for top in tops if f"{top}/" in text}
    for path in files:
        name = path.rpartition("/")[2]
        is_named = path.partition("/")[0] in named_tops or name in text
        if path not in _SKILL_FILES and not is_named and not name.upper().startswith("LICENSE"):
            yield Finding("REF004", 1, facts={"path": path})
