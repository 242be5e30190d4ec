"""``agentex skill diff``: two versions of a skill, by line and by meaning."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import JsonValue, TypeAdapter
from rich.text import Text

from cli.command import JsonOption, LanguageOption, Options, leave, open_output
from cli.commands.skills.local_files import LocalSkill, find_each
from cli.commands.skills.validate import judge
from cli.errors import CommandFailed, ExitCode
from cli.ui.i18n import skills as messages
from cli.ui.output import Output, printable
from core.errors.requests import InvalidRequest
from skills.schema import ParsedSkill

if TYPE_CHECKING:
    from skills.diff.semantic import ListChange, SkillDifference

_JSON = TypeAdapter[JsonValue](JsonValue)
_JSON_LIKE = TypeAdapter[object](object)
_STYLES = {"+": "green", "-": "red", "@": "cyan"}
Row = tuple[str, str, str]
PathArgument = Annotated[str, typer.Argument(metavar="PATH", help="A SKILL file or its folder.")]


def diff(
    before: PathArgument,
    after: PathArgument,
    fail_on_breaking: Annotated[
        bool, typer.Option("--fail-on-breaking", help="Exit code 1 where callers may fail.")
    ] = False,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Compare two files: the changed lines, and which parameters, steps, triggers and tools differ."""
    output = open_output(Options(json_only, language))

    def work() -> ExitCode:
        from skills.diff.semantic import compare_skills, compare_text  # noqa: PLC0415

        old, new = find_each([before, after])
        text = compare_text(old.content, new.content, (old.display_path, new.display_path))
        change = compare_skills(_parsed(old), _parsed(new))
        for line in text.splitlines():
            output.print(Text(printable(line), style=_STYLES.get(line[:1], "")))
        rows = [*_rows(output, change)]
        if not text:
            output.say(messages.SAME)
        elif not rows:
            output.say(messages.SAME_MEANING)
        else:
            output.table((messages.KIND, messages.CHANGE, messages.WHAT), rows)
        if change.breaking:
            output.say(messages.BREAKING)
        output.emit(
            {"text": text, "semantic": _JSON.validate_python(_JSON_LIKE.dump_python(asdict(change), mode="json"))}
        )
        return ExitCode.FAILED if fail_on_breaking and change.breaking else ExitCode.OK

    leave(output, work)


def _parsed(skill: LocalSkill) -> ParsedSkill:
    parsed = judge(skill).parsed
    if parsed is None:
        problem = InvalidRequest("path", "no skill")
        raise CommandFailed(problem, messages.NOT_PARSED, path=skill.display_path)
    return parsed


def _rows(output: Output, change: "SkillDifference") -> Iterator[Row]:
    """A row for each difference in meaning."""
    kinds = {key: output.render(message) for key, message in messages.KINDS.items()}
    added, removed = output.render(messages.ADDED), output.render(messages.REMOVED)
    changed = output.render(messages.CHANGED)
    for name, value in change.values.items():
        yield kinds["value"], changed, f"{name}: {value.before} → {value.after}"
    for param in change.params_added:
        yield kinds["parameter"], added, param.name
    for param in change.params_removed:
        yield kinds["parameter"], removed, param.name
    for parameter in change.params_changed:
        yield (kinds["parameter"], changed, f"{parameter.name}: {', '.join(parameter.breaking or parameter.fields)}")
    for step in change.steps:
        present = step.after or step.before
        word = changed if step.before and step.after else added if step.after else removed
        if present is not None:
            yield kinds["step"], word, f"{present.index}. {present.title or present.instruction}"
    for name, entries in change.lists.items():
        yield from _entries(kinds[name], entries, added, removed)
    yield from _entries(kinds["tool"], change.tools, added, removed)
    was, is_now = change.restricts_tools
    if was != is_now:
        words = {True: output.render(messages.TOOLS_LISTED), False: output.render(messages.TOOLS_FREE)}
        yield kinds["tool"], changed, f"{words[was]} → {words[is_now]}"


def _entries(kind: str, entries: "ListChange", added: str, removed: str) -> Iterator[Row]:
    yield from ((kind, added, entry) for entry in entries.added)
    yield from ((kind, removed, entry) for entry in entries.removed)
