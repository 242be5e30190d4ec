"""Tools that ask a person (docs/reference/ag-ui-endpoint.md, section "Human in the loop")."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from agents.tools.base import Tool, ToolScope, UserPrompt, arguments_schema
from core.auth.permissions import Permission
from core.settings.tool_policies import ToolPolicy

CONFIRM, INPUT = "confirm_action", "request_input"
POLICIES: Mapping[str, ToolPolicy] = {CONFIRM: "auto", INPUT: "auto"}
PERMISSIONS: Mapping[str, Permission] = {}
_LONGEST = 2000


class ConfirmArguments(BaseModel):
    """Arguments of a confirmation."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    message: str = Field(
        min_length=1,
        max_length=_LONGEST,
        description="What is about to be done and what it leads to, for the user to agree to.",
    )


class InputArguments(BaseModel):
    """Arguments of a question."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    prompt: str = Field(min_length=1, max_length=_LONGEST, description="What the user is asked.")


def tools(scope: ToolScope) -> list[Tool]:
    """Both tools, which need nothing of the run."""
    return [
        Tool(
            name=CONFIRM,
            description="Ask the user to agree before something that can't be undone. Gives "
            '{"confirmed": true} or {"confirmed": false}.',
            parameters=arguments_schema(ConfirmArguments),
            invoke=_never,
            question=_confirmation,
        ),
        Tool(
            name=INPUT,
            description="Ask the user for something that only they know and that the task can't "
            'go on without. Gives {"input": "what they said"}.',
            parameters=arguments_schema(InputArguments),
            invoke=_never,
            question=_input,
        ),
    ]


async def _never(arguments: str) -> str:
    raise NotImplementedError("answered by a person")


def _confirmation(arguments: str) -> UserPrompt:
    values = ConfirmArguments.model_validate_json(arguments)
    return UserPrompt("confirmation", values.message, _one_field("confirmed", {"type": "boolean"}))


def _input(arguments: str) -> UserPrompt:
    values = InputArguments.model_validate_json(arguments)
    field: dict[str, JsonValue] = {"type": "string", "maxLength": 10_000}
    return UserPrompt("input_required", values.prompt, _one_field("input", field))


def _one_field(name: str, schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {"type": "object", "properties": {name: schema}, "required": [name], "additionalProperties": False}
