"""What a tool is, and the one place where tools are called."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from agents.citations import DocumentReader, Retriever
from agents.evidence import Evidence
from agents.models.port import ToolSpec
from core.errors import AgentexError
from core.logging import get_logger

ApprovalPolicy = Literal["auto", "ask", "never"]
ArgumentsT = TypeVar("ArgumentsT", bound=BaseModel)

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool the model may call.

    Attributes:
        parameters: JSON Schema of the arguments.
        invoke: Validates the arguments (JSON text), runs the tool and gives its result as text.
        output_characters: A longer result is cut.
        approval: ``auto`` runs at once, ``ask`` needs a person, ``never`` is switched off.
        idempotent: May be repeated when its outcome is unknown.
    """

    name: str
    description: str
    parameters: dict[str, JsonValue]
    invoke: Callable[[str], Awaitable[str]]
    timeout_seconds: float = 30
    output_characters: int = 20_000
    approval: ApprovalPolicy = "auto"
    idempotent: bool = False

    @property
    def spec(self) -> ToolSpec:
        """The tool as offered to a model."""
        return ToolSpec(self.name, self.description, self.parameters)


@dataclass(frozen=True, slots=True)
class ToolScope:
    """What the tools of one run may reach.

    Attributes:
        retriever: None when no knowledge base is selected.
        top_k: Passages per search, where the knowledge bases do not say.
        documents: None when no knowledge base is selected.
    """

    retriever: Retriever | None
    evidence: Evidence
    top_k: int
    documents: DocumentReader | None = None


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The result of a call, or a plain sentence on why there is none.

    Attributes:
        ran: Whether the tool itself gave the text.
        failure: Set when the tool ran and broke, for strategies that can't go on without it.
    """

    content: str
    ran: bool = True
    failure: AgentexError | None = None


def arguments_schema(arguments: type[BaseModel]) -> dict[str, JsonValue]:
    """The JSON Schema of an arguments model, without the titles pydantic adds."""
    schema = arguments.model_json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    for prop in schema.get("properties", {}).values():
        prop.pop("title", None)
    return schema


def validated(
    arguments: type[ArgumentsT], run: Callable[[ArgumentsT], Awaitable[str]]
) -> Callable[[str], Awaitable[str]]:
    """A call that validates its JSON text against the model before anything runs."""

    async def invoke(text: str) -> str:
        return await run(arguments.model_validate_json(text or "{}"))

    return invoke


class Toolbox:
    """The tools of one run, by name."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools if tool.approval != "never"}

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools to offer to a model."""
        return tuple(tool.spec for tool in self._tools.values())

    def __contains__(self, name: str) -> bool:
        return name in self._tools

    async def call(self, name: str, arguments: str) -> ToolOutput:
        """Run a tool; every failure comes back as a sentence the model can act on."""
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(self._tools) or "none"
            return ToolOutput(f"There is no tool {name[:100]!r}. Known tools: {known}.", ran=False)
        if tool.approval != "auto":
            return ToolOutput(f"The tool {name} needs approval and was not run.", ran=False)
        try:
            async with asyncio.timeout(tool.timeout_seconds):
                content = await tool.invoke(arguments)
        except ValidationError as error:
            return ToolOutput(f"The arguments are not valid: {validation_facts(error)}.", ran=False)
        except TimeoutError:
            return ToolOutput(
                f"The tool {name} took longer than {tool.timeout_seconds:g} s.",
                failure=AgentexError(),
            )
        except AgentexError as error:
            return ToolOutput(f"The tool {name} failed: {error.code.message}.", failure=error)
        # A tool's fault must not end the run; the model is told and may go another way.
        except Exception as error:  # noqa: BLE001
            _log.error("tool.failed", tool=name, error=type(error).__name__)
            return ToolOutput(f"The tool {name} failed.", failure=AgentexError())
        return ToolOutput(_capped(content, tool.output_characters))


def _capped(content: str, limit: int) -> str:
    if not content:
        return "(no output)"
    if len(content) <= limit:
        return content
    return f"{content[:limit]}\n(cut: {len(content) - limit} more characters)"


def validation_facts(error: ValidationError) -> str:
    """Field and rule of each fault, without the values that were sent."""
    return "; ".join(
        ": ".join(part for part in (".".join(map(str, fault["loc"])), fault["msg"]) if part)
        for fault in error.errors(include_url=False, include_input=False, include_context=False)
    )
