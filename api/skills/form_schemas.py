"""Request models of skill forms."""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, JsonValue

from api.http.responses import RequestModel, Text
from skills.editor.fields import FIELDS
from skills.editor.fields import EditableField as SkillField
from skills.schema import Example, Param, ParsedSkill, SkillFormat, Step

_DERIVED = "Follows from the rest: not looked at"


def _tidy(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


FormText = Annotated[Text, AfterValidator(_tidy)]
"""What was typed into a form: blanks around it are dropped, lines end with a line feed."""

Ignored = Annotated[JsonValue, Field(description=_DERIVED)]


class ParamForm(RequestModel):
    """An input; without ``required`` it is required unless it has a default."""

    name: FormText
    type: FormText = "string"
    required: bool | None = None
    default: JsonValue = None
    description: FormText = ""
    enum: list[JsonValue] | None = None
    items: FormText | None = Field(default=None, description="The type of an array's members")
    example: JsonValue = None
    min: float | None = None
    max: float | None = None
    pattern: Text | None = None
    line: Ignored = None

    def param(self) -> Param:
        fields: dict[str, Any] = self.model_dump(exclude={"line"})
        fields["required"] = self.default is None if self.required is None else self.required
        fields["enum"] = tuple(self.enum) if self.enum else None
        fields["items"] = self.items or None
        return Param(**fields, line=0)


class StepForm(RequestModel):
    """A step; its instruction gets a line for the tools and the condition that it does not name."""

    title: FormText | None = None
    instruction: FormText = ""
    tools: list[FormText] = Field(default_factory=list[FormText])
    condition: FormText | None = None
    index: Ignored = None
    line: Ignored = None
    end_line: Ignored = None

    def step(self) -> Step:
        title, condition = self.title or None, self.condition or None
        return Step(0, title, self.instruction, 0, 0, tuple(self.tools), condition)


class ExampleForm(RequestModel):
    """An example; without ``text`` it is written from input and output."""

    title: FormText | None = None
    input: FormText | None = None
    output: FormText | None = None
    text: FormText = ""

    def example(self) -> Example:
        return Example(self.text, self.title or None, self.input or None, self.output or None)


class SkillForm(RequestModel):
    """The fields that a person writes."""

    name: FormText = Field(default="", examples=["日报生成"])
    description: FormText = ""
    trigger_conditions: list[FormText] = Field(default_factory=list[FormText])
    not_for: list[FormText] = Field(default_factory=list[FormText])
    input_params: list[ParamForm] = Field(default_factory=list[ParamForm])
    steps: list[StepForm] = Field(default_factory=list[StepForm])
    outputs: list[FormText] = Field(default_factory=list[FormText])
    examples: list[ExampleForm] = Field(default_factory=list[ExampleForm])
    constraints: list[FormText] = Field(default_factory=list[FormText])
    tools: list[FormText] | None = Field(
        default=None, description="The allowed tools; none named: no tool, null: no restriction"
    )
    metadata: dict[Text, FormText] = Field(default_factory=dict[Text, FormText])

    def provided(self) -> dict[SkillField, Any]:
        values: Mapping[SkillField, Any] = {field: _WRITTEN.get(field, tuple)(getattr(self, field)) for field in FIELDS}
        return {key: value for key, value in values.items() if key in self.model_fields_set}


class ParsedForm(SkillForm):
    """A model as validation gives it, or the fields of it that a person writes."""

    triggers_derived: bool = Field(
        default=False, description="Whether the triggers are those that the description names"
    )
    format: Ignored = None
    slug: Ignored = None
    sections: Ignored = None
    input_schema: Ignored = None
    body: Ignored = None
    content_sha256: Ignored = None
    token_estimate: Ignored = None
    trigger_kinds: Ignored = None

    def model(self) -> ParsedSkill:
        fields: dict[str, Any] = {"name": self.name, "description": self.description}
        return ParsedSkill(
            **fields | self.provided(),
            triggers_derived=self.triggers_derived,
            format=SkillFormat.NATIVE,
            slug="",
            body="",
            content_sha256="",
            token_estimate=0,
        )


def _text(text: str) -> str:
    return text


def _tools(names: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


def _params(forms: Iterable[ParamForm]) -> tuple[Param, ...]:
    return tuple(form.param() for form in forms)


def _steps(forms: Iterable[StepForm]) -> tuple[Step, ...]:
    return tuple(form.step() for form in forms)


def _examples(forms: Iterable[ExampleForm]) -> tuple[Example, ...]:
    return tuple(form.example() for form in forms)


_WRITTEN: Mapping[SkillField, Callable[[Any], Any]] = {
    "name": _text,
    "description": _text,
    "input_params": _params,
    "steps": _steps,
    "examples": _examples,
    "tools": _tools,
    "metadata": dict,
}
"""How a field becomes a value of the model; the others are tuples of texts."""
