"""Writes a skill from its model, for authors who fill in a form."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import orjson

from skills.grammar.steps import split_title, tools_in
from skills.grammar.synonyms import usual_heading
from skills.models import Example, Param, ParsedSkill, Step

ORDER = (
    *("description", "trigger_conditions", "not_for", "input_params", "steps", "outputs"),
    *("examples", "constraints", "tools", "metadata"),
)
"""The sections in the order in which they are written."""


def render(model: ParsedSkill) -> str:
    """A native SKILL file that reads back as the model (docs/skills.md).

    Sections without content are left out. Headings are Chinese where name or description are.

    Args:
        model: what the file shall say; its places, body and hash are not looked at.

    Returns:
        Markdown, lines ended by ``\\n``.
    """
    chinese = is_chinese(model.name + model.description)
    parts = [f"# SKILL: {model.name}".rstrip()]
    for key in ORDER:
        if text := body_of(
            key, getattr(model, "tools" if key == "tools" else key), chinese=chinese
        ):
            parts += f"## {usual_heading(key, chinese=chinese)}", text
    return "\n\n".join(parts) + "\n"


def is_chinese(text: str) -> bool:
    """Whether a text has Han characters."""
    return any("\u3400" <= sign <= "\u9fff" for sign in text)


def without_places(model: ParsedSkill) -> ParsedSkill:
    """What a model says, without lines, offsets and what follows from the bytes: for comparisons."""
    return dataclasses.replace(
        model,
        body="",
        content_sha256="",
        token_estimate=0,
        sections=(),
        trigger_kinds={},
        input_params=tuple(dataclasses.replace(one, line=0) for one in model.input_params),
        steps=tuple(dataclasses.replace(one, line=0, end_line=0) for one in model.steps),
    )


def body_of(key: str, value: object, *, chinese: bool) -> str:
    """What stands below a section's heading.

    Args:
        key: the model's name of the section.
        value: the model's value of that name.
        chinese: whether the words around it are Chinese.

    Returns:
        Markdown without blank lines around; empty where there is nothing to say.
    """
    return _WRITERS[key](value, chinese)


def _description(text: str, _chinese: bool) -> str:
    return text.strip()


def _texts(texts: Sequence[str], _chinese: bool) -> str:
    return "\n".join(_item("- ", text) for text in texts)


def _item(marker: str, text: str) -> str:
    """A list item: later lines are indented so far that they belong to it."""
    indent = " " * len(marker)
    first, *rest = text.split("\n")
    return "\n".join([f"{marker}{first}", *(f"{indent}{line}" if line else "" for line in rest)])


def _tools(tools: Sequence[str] | None, chinese: bool) -> str:
    if tools is None:
        return ""
    if not tools:
        return "无" if chinese else "None"
    return "\n".join(f"- `{tool}`" for tool in tools)


def _metadata(pairs: Mapping[str, str], _chinese: bool) -> str:
    return "\n".join(f"- {key}: {value}" for key, value in pairs.items() if value)


def _params(params: Sequence[Param], chinese: bool) -> str:
    return "\n".join(_item("- ", _param(param, chinese)) for param in params)


def _param(param: Param, chinese: bool) -> str:
    kind = f"array<{param.items}>" if param.type == "array" and param.items else param.type
    attributes = [kind, _required(param.required, chinese)]
    names = _ATTRIBUTES_ZH if chinese else _ATTRIBUTES
    if param.default is not None:
        attributes.append(f"{names['default']}: {_value(param.default)}")
    if param.enum:
        # The last bar tells a single value from a list between commas.
        values = "|".join(_value(one) for one in param.enum)
        attributes.append(f"{names['enum']}: {values}{'' if len(param.enum) > 1 else '|'}")
    if param.example is not None:
        attributes.append(f"{names['example']}: {_value(param.example)}")
    bounds = {"min": param.min, "max": param.max}
    attributes += (f"{key} {_value(one)}" for key, one in bounds.items() if one is not None)
    if param.pattern is not None:
        escaped = param.pattern.replace("`", "\\x60")
        attributes.append(f"pattern: `{escaped}`")
    told = f": {param.description}" if param.description else ""
    return f"`{param.name}` ({', '.join(attributes)}){told}"


_ATTRIBUTES = {"default": "default", "enum": "enum", "example": "example"}
_ATTRIBUTES_ZH = {"default": "默认", "enum": "枚举", "example": "示例"}


def _required(required: bool, chinese: bool) -> str:
    if chinese:
        return "必填" if required else "可选"
    return "required" if required else "optional"


def _value(value: object) -> str:
    """A value so that it reads back: numbers bare, all else in code marks."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return f'"{value}"' if "`" in value or not value else f"`{value}`"
    # A code mark would end the value: JSON can spell it.
    written = orjson.dumps(value).decode().replace("`", "\\u0060")
    return f"`{written}`"


def _steps(steps: Sequence[Step], chinese: bool) -> str:
    """A numbered list where each step fits on a line and reads back from it, else headings."""
    told = [_instruction(step, chinese) for step in steps]
    lines = [
        f"**{step.title}**: {text}".rstrip() if step.title else text
        for step, text in zip(steps, told, strict=True)
    ]
    if all(
        "\n" not in line and line and split_title(line) == (step.title, text)
        for step, text, line in zip(steps, told, lines, strict=True)
    ):
        return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))
    word = "步骤" if chinese else "Step"
    parts: list[str] = []
    for number, (step, text) in enumerate(zip(steps, told, strict=True), start=1):
        parts.append(f"### {number}. {step.title}" if step.title else f"### {word} {number}")
        parts.extend([text] if text else ())
    return "\n\n".join(parts)


def _instruction(step: Step, chinese: bool) -> str:
    """What to do, with a line for the tools and the condition that the text does not name."""
    text = step.instruction.strip()
    named = {tool for line in text.split("\n") for tool, _ in tools_in(line)}
    lines = [text] if text else []
    if step.condition and step.condition not in text:
        lines.append(f"{'条件：' if chinese else 'Condition: '}{step.condition}")
    if missing := [tool for tool in step.tools if tool not in named]:
        codes = " ".join(f"`{tool}`" for tool in missing)
        lines.append(f"{'使用工具：' if chinese else 'Tool: '}{codes}")
    return "\n\n".join(lines)


def _examples(examples: Sequence[Example], chinese: bool) -> str:
    parts: list[str] = []
    for number, example in enumerate(examples, start=1):
        head = f"### 示例 {number}" if chinese else f"### Example {number}"
        joint = "：" if chinese else ": "
        parts += f"{head}{joint}{example.title}" if example.title else head, example.text
    return "\n\n".join(parts)


_WRITERS: Mapping[str, Callable[..., str]] = {
    "description": _description,
    "trigger_conditions": _texts,
    "not_for": _texts,
    "input_params": _params,
    "steps": _steps,
    "outputs": _texts,
    "examples": _examples,
    "constraints": _texts,
    "tools": _tools,
    "metadata": _metadata,
}
