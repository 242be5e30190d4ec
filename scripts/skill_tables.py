"""Prints the tables of ``docs/skills.md``: known headings, input types, diagnostics.

``python -m scripts.skill_tables``; a test keeps the page equal to the code.
"""

import sys
from collections.abc import Mapping

from skills.diagnostics import RULES
from skills.diagnostics.rule import DiagnosticRule
from skills.parser.headings import STRONG, WEAK
from skills.parser.param_types import NAMES
from skills.schema import Severity, SkillFormat
from skills.store.metadata import DIFFERS, DIFFERS_MESSAGES

_HEAD = "| code | weight | what it says | 中文 | mend |\n|---|---|---|---|---|\n"


class _Places(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "…"


def headings() -> str:
    """The known headings in Markdown, one row per section; weak ones in italics."""
    rows = [f"| `{key}` | {_names(key, chinese=True)} | {_names(key, chinese=False)} |\n" for key in STRONG]
    return "| read as | 中文 | English |\n|---|---|---|\n" + "".join(rows)


def _names(key: str, *, chinese: bool) -> str:
    sure = [name for name in STRONG[key] if name.isascii() is not chinese]
    weak = [f"*{name}*" for name in WEAK.get(key, ()) if name.isascii() is not chinese]
    return (", " if not chinese else "、").join([*sure, *weak])


def types() -> str:
    """The input types in Markdown, one row per type."""
    rows = [f"| `{key}` | {', '.join(names)} |\n" for key, names in NAMES.items()]
    return "| type | written as |\n|---|---|\n" + "".join(rows)


def findings() -> str:
    """The diagnostics in Markdown, one row per message; a code's other messages follow its first."""
    # A rule of the library alone, not in the parser's catalogue.
    rules = (*RULES.values(), DiagnosticRule(DIFFERS, Severity.INFO, DIFFERS_MESSAGES))
    return _HEAD + "".join(_row(rule, *message) for rule in rules for message in _messages(rule))


def _messages(rule: DiagnosticRule) -> list[tuple[str, tuple[str, str]]]:
    others = [("", message) for message in rule.variants.values()]
    return [(rule.code, rule.message), *others]


def _row(rule: DiagnosticRule, code: str, message: tuple[str, str]) -> str:
    places: Mapping[str, str] = _Places()
    english, chinese = (text.format_map(places).replace("|", "\\|") for text in message)
    mend = rule.fix[0] if rule.fix and code else ""
    code_cell = f"`{code}`" if code else ""
    return f"| {code_cell} | {_weight(rule) if code else ''} | {english} | {chinese} | {mend} |\n"


def _weight(rule: DiagnosticRule) -> str:
    if rule.blocks_portability():
        return "portability"
    weight = rule.severity.value
    if (free := rule.severity_in(SkillFormat.AGENT_SKILLS)) is not rule.severity:
        weight += f", {free.value} in a free document"
    if rule.publishing is Severity.ERROR:
        weight += ", error for publishing"
    return weight


if __name__ == "__main__":
    sys.stdout.write("\n".join((headings(), types(), findings())))
