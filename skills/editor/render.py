"""Renderer of native SKILL files from a model, such as a form's."""

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from skills.diagnostics import Finding
from skills.editor.roundtrip import ORDER, check_reads_back, check_writable, field_values, unreadable_error
from skills.parser.examples import split_sides
from skills.parser.headings import usual_heading
from skills.parser.parse import parse
from skills.parser.steps import split_title, tools_and_condition
from skills.schema import Example, Param, ParsedSkill, Step

_DASHES = re.compile(r"[- \t]*(?:\n|$)")


def render(model: ParsedSkill) -> str:
    """A native SKILL file that reads back as the model (docs/skills.md); lines end with ``\\n``.

    Empty sections and derived fields are left out. Headings are Chinese if name or description are.
    """
    chinese = is_chinese(model.name + model.description)
    values = field_values(model)
    check_writable(values)
    bodies = {key: section_body(key, values[key], chinese=chinese) for key in ORDER}
    parts = [heading("# ", f"SKILL: {model.name}".rstrip())]
    for key, body in bodies.items():
        if body:
            parts += f"## {usual_heading(key, chinese=chinese)}", body
    text = "\n\n".join(parts) + "\n"
    draft = parse(text.encode())
    if isinstance(draft, Finding):
        raise unreadable_error(draft)
    expected = {key: complete_value(key, value, chinese=chinese) for key, value in values.items()}
    if expected != field_values(draft.model):
        # Text that spills over changes other fields too, so each is read alone first.
        for key, body in bodies.items():
            if body and (alone := _read_alone(key, body, chinese)):
                check_reads_back({key: expected[key]}, alone)
        check_reads_back(expected, draft.model)
    return text


def is_chinese(text: str) -> bool:
    """Whether a text has Han characters."""
    return any("\u3400" <= sign <= "\u9fff" for sign in text)


def heading(marks: str, text: str) -> str:
    """A heading; a text that ends with ``#`` gets another one, so that its own is kept."""
    return f"{marks}{text} #" if text.endswith("#") else f"{marks}{text}"


def complete_value(key: str, value: Any, *, chinese: bool) -> Any:  # noqa: ANN401 - of any field
    """A field's value as it is written.

    A step's instruction gets lines for tools and a condition that it does not name; an example without text is made of
    its input and output.
    """
    if key == "steps":
        return tuple(_completed_step(step, chinese) for step in value)
    if key == "examples":
        return tuple(_completed_example(example, chinese) for example in value)
    return value


def _completed_step(step: Step, chinese: bool) -> Step:
    tools, condition = tools_and_condition(step.instruction)
    lines = [step.instruction] if step.instruction else []
    if step.condition and condition is None:
        lines.append(f"{'条件：' if chinese else 'Condition: '}{step.condition}")
    missing = [tool for tool in dict.fromkeys(step.tools) if tool not in tools]
    if missing:
        codes = " ".join(f"`{tool}`" for tool in missing)
        lines.append(f"{'使用工具：' if chinese else 'Tool: '}{codes}")
    # In the order in which the text names them, which is that of reading.
    named_tools = (*(tool for tool in tools if tool in step.tools), *missing)
    return dataclasses.replace(step, instruction="\n\n".join(lines), tools=named_tools)


def _completed_example(example: Example, chinese: bool) -> Example:
    if not example.text:
        words = ("输入：", "输出：") if chinese else ("Input: ", "Output: ")
        named_sides = zip(words, (example.input, example.output), strict=True)
        text = "\n\n".join(f"{word}{side}" for word, side in named_sides if side)
        return dataclasses.replace(example, text=text)
    if example.input is None and example.output is None:
        return dataclasses.replace(example, **split_sides(example.text))
    return example


def section_body(key: str, value: Any, *, chinese: bool) -> str:  # noqa: ANN401 - of any field
    """The text below a section's heading: the plainest form that reads back as the value, if any does."""
    expected = complete_value(key, value, chinese=chinese)
    forms = list(_WRITERS[key](expected, chinese))
    if len(forms) > 1:
        fitting = (form for form in forms if _reads_back(key, form, expected, chinese))
        return next(fitting, forms[0])
    return forms[0]


def _reads_back(key: str, body: str, value: object, chinese: bool) -> bool:
    model = _read_alone(key, body, chinese)
    read = {} if model is None else field_values(model)
    return bool(read) and read[key] == value and read[_next_section(key)] == ("x",)


def _read_alone(key: str, body: str, chinese: bool) -> ParsedSkill | None:
    sections = ((key, body), (_next_section(key), "- x"))
    parts = (f"## {usual_heading(section, chinese=chinese)}\n\n{text}" for section, text in sections)
    draft = parse("\n\n".join(["# SKILL: x", *parts]).encode())
    return None if isinstance(draft, Finding) else draft.model


def _next_section(key: str) -> str:
    return "constraints" if key == "outputs" else "outputs"


def _description(text: str, _chinese: bool) -> Iterator[str]:
    yield text


def _texts(texts: Sequence[str], _chinese: bool) -> Iterator[str]:
    # "- ---" would be a rule, "* ---" is an item.
    markers = ("* " if _DASHES.match(text) else "- " for text in texts)
    yield "\n".join(map(_item, markers, texts))


def _item(marker: str, text: str) -> str:
    indent = " " * len(marker)
    first, *rest = text.split("\n")
    return "\n".join([f"{marker}{first}", *(f"{indent}{line}" if line else "" for line in rest)])


def _tools(tools: Sequence[str] | None, chinese: bool) -> Iterator[str]:
    if tools is not None and not tools:
        yield "无" if chinese else "None"
    else:
        yield "\n".join(f"- `{tool}`" for tool in tools or ())


def _metadata(pairs: Mapping[str, str], _chinese: bool) -> Iterator[str]:
    yield "\n".join(_item("- ", f"{key}: {value}") for key, value in pairs.items())


def _params(params: Sequence[Any], chinese: bool) -> Iterator[str]:
    yield "\n".join(_item("- ", param_line(param, chinese=chinese)) for param in params)


def _steps(steps: Sequence[Step], chinese: bool) -> Iterator[str]:
    lines = [f"**{step.title}**: {step.instruction}".rstrip() if step.title else step.instruction for step in steps]
    if all(
        line and "\n" not in line and split_title(line) == (step.title, step.instruction)
        for step, line in zip(steps, lines, strict=True)
    ):
        yield "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))
    yield "\n\n".join(_step_headings(steps, chinese))
    # What would be a heading of its own is none within a list.
    yield "\n".join(
        _item(f"{number}. ", f"**{step.title}**:\n\n{step.instruction}" if step.title else line)
        for number, (step, line) in enumerate(zip(steps, lines, strict=True), start=1)
    )


def _step_headings(steps: Sequence[Step], chinese: bool) -> Iterator[str]:
    word = "步骤" if chinese else "Step"
    for number, step in enumerate(steps, start=1):
        yield heading("### ", f"{number}. {step.title}" if step.title else f"{word} {number}")
        if step.instruction:
            yield step.instruction


def _examples(examples: Sequence[Example], chinese: bool) -> Iterator[str]:
    word, joint = ("示例", "：") if chinese else ("Example", ": ")
    parts: list[str] = []
    for number, example in enumerate(examples, start=1):
        title = f"{joint}{example.title}" if example.title else ""
        parts += heading("### ", f"{word} {number}{title}"), example.text
    yield "\n\n".join(parts)


_WRITERS: Mapping[str, Callable[..., Iterator[str]]] = {
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
"""The forms of each section, the plainest first."""


_WORDS = {"default": "default", "enum": "enum", "example": "example"}
_WORDS_ZH = {"default": "默认", "enum": "枚举", "example": "示例"}
_EXACT = 2**53
_UNMARKED = "\\u0060"


def param_line(param: Param, *, chinese: bool) -> str:
    """An input on one line, or on more if its description has more."""
    kind = f"array<{param.items}>" if param.type == "array" and param.items else param.type
    description = f": {param.description}" if param.description else ""
    attributes = [kind, _required(param.required, chinese), *_values(param, chinese)]
    return f"`{param.name}` ({', '.join(attributes)}){description}"


def _values(param: Param, chinese: bool) -> list[str]:
    words: Mapping[str, str] = _WORDS_ZH if chinese else _WORDS
    attributes: list[str] = []
    if param.default is not None:
        attributes.append(f"{words['default']}: {_value(param.default)}")
    if param.enum:
        # The last bar tells a single value from a list between commas.
        values = "|".join(_value(value) for value in param.enum)
        attributes.append(f"{words['enum']}: {values}{'' if len(param.enum) > 1 else '|'}")
    if param.example is not None:
        attributes.append(f"{words['example']}: {_value(param.example)}")
    bounds = {"min": param.min, "max": param.max}
    attributes += (f"{key} {_value(bound)}" for key, bound in bounds.items() if bound is not None)
    if param.pattern is not None:
        attributes.append(f"pattern: {_text(param.pattern)}")
    return attributes


def _required(required: bool, chinese: bool) -> str:
    if chinese:
        return "必填" if required else "可选"
    return "required" if required else "optional"


def _value(value: object) -> str:
    """A value that reads back: numbers and booleans bare, others in code marks or quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    if isinstance(value, str):
        return _text(value)
    try:
        if isinstance(value, int | float):
            return repr(value)
        # A code mark would end the value: JSON can spell it.
        return f"`{orjson.dumps(value).decode().replace('`', _UNMARKED)}`"
    except (TypeError, ValueError):
        # No file can say it, and this is read as none.
        return "``"


def _text(text: str) -> str:
    """A text in the first marks that it does not contain and that keep outer blanks."""
    if "`" not in text and text == text.strip() and text:
        return f"`{text}`"
    return f'"{text}"' if '"' not in text else f"'{text}'"
