"""Text and semantic diff of two versions of a skill."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import islice

from skills.schema import Param, ParsedSkill, Step

# Beyond it the matching of lines takes seconds; the whole change is then one hunk.
_MOST_LINES = 10_000
_SIMILAR_STEP = 0.6


@dataclass(frozen=True)
class ValueChange:
    """A text that was replaced."""

    before: str
    after: str


@dataclass(frozen=True)
class ListChange:
    """What a list of texts gained and lost, each in its order."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


@dataclass(frozen=True)
class ParamChange:
    """A parameter that both versions declare.

    Args:
        name: its key.
        before: as it was.
        after: as it is.
        fields: which of its fields differ, in the order of ``Param``; a moved line is no change.
        breaking: why inputs that were right may be refused now: ``retyped``, ``required`` (none was
            needed before), ``narrowed`` (values, bounds or pattern); empty where they are not.
    """

    name: str
    before: Param
    after: Param
    fields: tuple[str, ...]
    breaking: tuple[str, ...]


@dataclass(frozen=True)
class StepChange:
    """A step that is not the same any more.

    Args:
        before: as it was; ``None`` for a new one.
        after: as it is; ``None`` for a removed one.
        fields: for a step of both versions, which of ``index``, ``title``, ``instruction``,
            ``tools`` and ``condition`` differ; ``index`` only where the order changed.
    """

    before: Step | None
    after: Step | None
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class SkillDifference:
    """What a new version of a skill means to who uses it.

    Args:
        values: the changed ones of ``name``, ``slug`` and ``description``.
        params_added: parameters that are new.
        params_removed: parameters that are gone.
        params_changed: parameters of both that differ.
        steps: new, removed and changed steps in the order of the new version, removed ones last.
        lists: the changed ones of ``trigger_conditions``, ``not_for``, ``constraints``,
            ``outputs``.
        tools: allowed tools gained and lost; see ``restricts_tools`` for whether there is a list.
        restricts_tools: whether tools were and are restricted to a list at all.
        widens_tools: whether the skill may use a tool now that it could not before.
        breaking: whether a caller of the old version may fail with the new one: a removed,
            retyped, narrowed or newly required parameter, or wider tools.
    """

    values: dict[str, ValueChange]
    params_added: tuple[Param, ...]
    params_removed: tuple[Param, ...]
    params_changed: tuple[ParamChange, ...]
    steps: tuple[StepChange, ...]
    lists: dict[str, ListChange]
    tools: ListChange
    restricts_tools: tuple[bool, bool]
    widens_tools: bool
    breaking: bool

    @property
    def is_empty(self) -> bool:
        params = self.params_added or self.params_removed or self.params_changed
        was, is_now = self.restricts_tools
        return not (self.values or params or self.steps or self.lists or self.tools or was != is_now)


def compare_text(before: bytes, after: bytes, names: tuple[str, str] = ("before", "after")) -> str:
    """A unified diff of two contents called ``names``, three lines around each change; empty if the bytes are equal.

    Line ends count: a line that only lost its carriage return is a changed line. Bytes that are not UTF-8 are shown as
    U+FFFD.
    """
    if before == after:
        return ""
    old, new = _lines(before), _lines(after)
    if len(old) + len(new) > _MOST_LINES:
        return "".join(map(_ended, _replaced(old, new, names)))
    return "".join(map(_ended, difflib.unified_diff(old, new, *names)))


def compare_skills(before: ParsedSkill, after: ParsedSkill) -> SkillDifference:
    """The changes in meaning that a new version of a skill makes."""
    old, new = _by_name(before.input_params), _by_name(after.input_params)
    added = tuple(param for name, param in new.items() if name not in old)
    removed = tuple(param for name, param in old.items() if name not in new)
    pairs = ((old[name], param) for name, param in new.items() if name in old)
    changed = tuple(change for pair in pairs if (change := _param_change(*pair)) is not None)
    wider = widens(before.tools, after.tools)
    is_breaking = (
        bool(removed) or any(param.required for param in added) or any(change.breaking for change in changed) or wider
    )
    return SkillDifference(
        values=_values(before, after),
        params_added=added,
        params_removed=removed,
        params_changed=changed,
        steps=_step_changes(before.steps, after.steps),
        lists=_lists(before, after),
        tools=_list_change(before.tools or (), after.tools or ()),
        restricts_tools=(before.tools is not None, after.tools is not None),
        widens_tools=wider,
        breaking=is_breaking,
    )


def widens(before: Sequence[str] | None, after: Sequence[str] | None) -> bool:
    """Whether tools are newly allowed; ``None`` stands for no restriction."""
    if before is None:
        return False
    return after is None or not set(after) <= set(before)


def _lines(content: bytes) -> list[str]:
    # str.splitlines would end lines at signs that no editor counts as line ends.
    parts = content.decode("utf-8", "replace").split("\n")
    lines = [f"{part}\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def _ended(line: str) -> str:
    """A diff's line; a missing line end at the end of the file gets git's note."""
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _replaced(old: list[str], new: list[str], names: tuple[str, str]) -> list[str]:
    shorter = min(len(old), len(new))
    pairs = zip(old, new, strict=False)
    head = next((at for at, pair in enumerate(pairs) if pair[0] != pair[1]), shorter)
    ends = zip(reversed(old), reversed(new), strict=False)
    tail = next((at for at, pair in enumerate(islice(ends, shorter - head)) if pair[0] != pair[1]), shorter - head)
    gone, come = old[head : len(old) - tail], new[head : len(new) - tail]
    spans = f"-{_span(head, len(gone))} +{_span(head, len(come))}"
    head_lines = [f"--- {names[0]}\n", f"+++ {names[1]}\n", f"@@ {spans} @@\n"]
    return head_lines + [f"-{line}" for line in gone] + [f"+{line}" for line in come]


def _span(start: int, count: int) -> str:
    # A hunk without lines names the line before it.
    return f"{start + 1 if count else start},{count}"


def _by_name(params: Sequence[Param]) -> dict[str, Param]:
    return {param.name: param for param in params}


def _param_change(before: Param, after: Param) -> ParamChange | None:
    changed = tuple(
        field.name
        for field in fields(Param)
        if field.name != "line" and getattr(before, field.name) != getattr(after, field.name)
    )
    if not changed:
        return None
    return ParamChange(after.name, before, after, changed, tuple(_breaking(before, after)))


def _breaking(before: Param, after: Param) -> list[str]:
    reasons: list[str] = []
    if _is_retyped(before, after):
        reasons.append("retyped")
    if after.required and not before.required:
        reasons.append("required")
    if _is_narrowed(before, after):
        reasons.append("narrowed")
    return reasons


def _is_retyped(before: Param, after: Param) -> bool:
    # Whatever was an integer is a number too; a list of values is a text with bounds.
    wider = {("integer", "number"), ("enum", "string")}
    if (before.type, after.type) in wider:
        return False
    return before.type != after.type or (
        before.items != after.items and after.items is not None and before.items is not None
    )


def _is_narrowed(before: Param, after: Param) -> bool:
    if after.enum is not None and (before.enum is None or any(value not in after.enum for value in before.enum)):
        return True
    if after.pattern is not None and after.pattern != before.pattern:
        return True
    is_higher = after.min is not None and (before.min is None or after.min > before.min)
    is_lower = after.max is not None and (before.max is None or after.max < before.max)
    return is_higher or is_lower


def _values(before: ParsedSkill, after: ParsedSkill) -> dict[str, ValueChange]:
    pairs = {
        "name": ValueChange(before.name, after.name),
        "slug": ValueChange(before.slug, after.slug),
        "description": ValueChange(before.description, after.description),
    }
    return {key: pair for key, pair in pairs.items() if pair.before != pair.after}


def _lists(before: ParsedSkill, after: ParsedSkill) -> dict[str, ListChange]:
    changes = {
        "trigger_conditions": _list_change(before.trigger_conditions, after.trigger_conditions),
        "not_for": _list_change(before.not_for, after.not_for),
        "constraints": _list_change(before.constraints, after.constraints),
        "outputs": _list_change(before.outputs, after.outputs),
    }
    return {key: change for key, change in changes.items() if change}


def _list_change(before: Sequence[str], after: Sequence[str]) -> ListChange:
    old, new = set(before), set(after)
    return ListChange(
        tuple(item for item in dict.fromkeys(after) if item not in old),
        tuple(item for item in dict.fromkeys(before) if item not in new),
    )


def _step_changes(before: Sequence[Step], after: Sequence[Step]) -> tuple[StepChange, ...]:
    pairs = _paired_steps(before, after)
    paired = set(pairs.values())
    changes: list[StepChange] = []
    latest = -1
    for place, step in enumerate(after):
        if place not in pairs:
            changes.append(StepChange(None, step))
            continue
        older = before[pairs[place]]
        changed = _changed_fields(older, step)
        # A step that only moved down because one was put before it kept its order.
        if pairs[place] < latest:
            changed = ("index", *changed)
        latest = max(latest, pairs[place])
        if changed:
            changes.append(StepChange(older, step, changed))
    gone = (step for place, step in enumerate(before) if place not in paired)
    return (*changes, *(StepChange(step, None) for step in gone))


def _paired_steps(before: Sequence[Step], after: Sequence[Step]) -> dict[int, int]:
    """The older step of each newer one: same words, else same title, else similar."""
    pairs: dict[int, int] = {}
    free = dict.fromkeys(range(len(before)))
    for key_of in (_words, _title):
        places: dict[str, list[int]] = {}
        for place in free:
            if key := key_of(before[place]):
                places.setdefault(key, []).append(place)
        for place, step in enumerate(after):
            same = places.get(key_of(step)) if place not in pairs else None
            if same:
                pairs[place] = same.pop(0)
                del free[pairs[place]]
    for place, step in enumerate(after):
        if place not in pairs and place in free and _is_alike(before[place], step):
            pairs[place] = place
            del free[place]
    return pairs


def _words(step: Step) -> str:
    return f"{step.title or ''}\n{step.instruction}"


def _title(step: Step) -> str:
    return step.title or ""


def _is_alike(before: Step, after: Step) -> bool:
    old, new = _words(before)[:2000], _words(after)[:2000]
    matcher = difflib.SequenceMatcher(None, old, new)
    return matcher.quick_ratio() >= _SIMILAR_STEP and matcher.ratio() >= _SIMILAR_STEP


def _changed_fields(before: Step, after: Step) -> tuple[str, ...]:
    names = ("title", "instruction", "tools", "condition")
    return tuple(name for name in names if getattr(before, name) != getattr(after, name))
