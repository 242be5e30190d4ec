"""A tool for MCP clients: what they are shown of it, and what its calls get."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from mcp_types import InputRequiredResult, Tool, ToolAnnotations
from pydantic import BaseModel, ConfigDict, JsonValue
from pydantic.json_schema import GenerateJsonSchema

from agents.llm.tool_schemas import SchemaFault, normal_schema
from api.http.responses import ResponseModel
from api.mcp_server.services import ToolServices
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.errors.base import AgentexError
from core.types.strict import StrictJsonModel

LONGEST_ANSWER = 100_000
"""Characters of document text in one answer."""


class ToolArguments(StrictJsonModel):
    """Base of the arguments: unknown ones are refused, so that none is left out by a slip."""

    model_config = ConfigDict(extra="forbid")


class ToolAnswer(ResponseModel):
    """Base of the structured answers."""


ArgumentsT = TypeVar("ArgumentsT", bound=ToolArguments)
AnswerT = TypeVar("AnswerT", bound=ToolAnswer)


@dataclass(frozen=True)
class Dialog:
    """How a call can put questions to the person at the client.

    Attributes:
        is_possible: Whether the client can show them.
        responses: The person's responses by question, where the call repeats an earlier one.
        state: What that earlier call gave the client to send back.
    """

    is_possible: bool = False
    responses: Mapping[str, object] | None = None
    state: str | None = None


@dataclass(frozen=True)
class CallContext:
    """The surroundings of one call.

    Attributes:
        run_id: For a run that the call starts: who cancels the request can tell it.
        report: Tells the client in words how far the call is.
    """

    principal: Principal
    services: ToolServices
    is_chinese: bool
    run_id: str
    report: Callable[[str], Awaitable[None]]
    dialog: Dialog = Dialog()


class CallFailure(Exception):
    """An error of a call whose class is known only by its code.

    Args:
        error_class: What the client gets.
        details: As those of an ``AgentexError``.
    """

    def __init__(self, error_class: type[AgentexError], details: dict[str, object]) -> None:
        super().__init__(error_class.message)
        self.error_class = error_class
        self.details = details


def as_json(answer: ToolAnswer) -> str:
    """The text of an answer for clients that read no structured content."""
    return answer.model_dump_json()


@dataclass(frozen=True)
class ServedTool(Generic[ArgumentsT, AnswerT]):
    """A tool for MCP clients.

    Attributes:
        permission: Who lacks it neither sees nor calls the tool.
        text: The answer as a text for language models.
        is_long: A call takes so long that its progress is streamed, and ends with its request.
    """

    name: str
    title: str
    description: str
    permission: Permission
    arguments: type[ArgumentsT]
    answer: type[AnswerT]
    annotations: ToolAnnotations
    call: Callable[[CallContext, ArgumentsT], Awaitable[AnswerT | InputRequiredResult]]
    text: Callable[[AnswerT], str] = as_json
    is_long: bool = False

    def listed(self) -> Tool:
        """The tool as clients are told of it."""
        return Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.input_schema,
            output_schema=_plain_schema(self.answer),
            annotations=self.annotations,
        )

    @property
    def input_schema(self) -> dict[str, JsonValue]:
        """The schema of the arguments, in a form that every model's endpoint takes."""
        schema = normal_schema(_plain_schema(self.arguments))
        if isinstance(schema, SchemaFault):
            raise TypeError(f"{self.name}: {schema.en}")
        return schema


def _plain_schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(mode="serialization", schema_generator=_UntitledSchema)
    schema.pop("title", None)
    schema.pop("description", None)
    return schema


class _UntitledSchema(GenerateJsonSchema):
    """Leaves out titles of fields, which repeat their names: every model pays for the schemas."""

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
"""Hints of a tool that changes nothing and looks at nothing outside."""


def shorten(text: str, limit: int) -> tuple[str, bool]:
    """The text up to a limit, and whether something of it is missing."""
    return (text, False) if len(text) <= limit else (text[:limit], True)
