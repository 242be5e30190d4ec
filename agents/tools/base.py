"""What a tool is, and the one place where tools are called."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from agents.evidence import Evidence
from agents.llm.base import ToolSpec
from agents.run_context import RunContext, ToolRules
from agents.skills.run_skills import ALWAYS_ALLOWED, RunSkills
from agents.tools.json_schema import schema_fault
from core.errors.base import AgentexError
from core.errors.requests import InvalidRequest
from core.json_access import parse
from core.logging import get_logger
from core.settings.tool_policies import ToolPolicy

ArgumentsT = TypeVar("ArgumentsT", bound=BaseModel)
ResultT = TypeVar("ResultT")
LONGEST_OUTPUT = 20_000
"""Characters of a result that a model is given, where a tool does not say otherwise."""

_call_id: ContextVar[str] = ContextVar("call_id", default="")

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class UserPrompt:
    """What a tool asks a person; the answer is the call's result.

    Attributes:
        schema: JSON Schema of the answer.
        fills: The argument, an object, into which the answer goes; the call is made then. Empty
            where the answer is the call's result.
    """

    reason: Literal["confirmation", "input_required"]
    message: str
    schema: dict[str, JsonValue]
    fills: str = ""


@dataclass(frozen=True, slots=True)
class CallPreview:
    """What is known of a call before it is made.

    Attributes:
        question: What a person has to be asked first; None for nothing.
        skill: That it would load, as :func:`agents.skill_use.shelf.dumped` gives it: while the
            call waits, tools are kept to it already.
    """

    question: UserPrompt | None = None
    skill: dict[str, JsonValue] | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool the model may call.

    Attributes:
        parameters: JSON Schema of the arguments.
        invoke: Validates the arguments (JSON text), runs the tool and gives its result as text.
        approval: ``auto`` runs at once, ``ask`` needs a person, ``never`` is switched off; a
            run's rules go before it.
        idempotent: May be repeated when its outcome is unknown.
        in_order: Never made beside another call of the same turn.
        side: ``client`` runs in the caller's frontend: never here.
        question: Set when the tool is a question to a person, made of the arguments (JSON text).
        preview: Finds out what a call (its JSON text) needs and would do. Calls of such a tool
            are made before all others of their turn.
    """

    name: str
    description: str
    parameters: dict[str, JsonValue]
    invoke: Callable[[str], Awaitable[str]]
    timeout_seconds: float = 30
    output_characters: int = LONGEST_OUTPUT
    approval: ToolPolicy = "auto"
    idempotent: bool = False
    in_order: bool = False
    side: Literal["server", "client"] = "server"
    question: Callable[[str], UserPrompt] | None = None
    preview: Callable[[str], Awaitable[CallPreview]] | None = None

    @property
    def needs_others(self) -> bool:
        """Whether a call waits for a person or for the caller's frontend."""
        return self.side == "client" or self.question is not None or self.approval == "ask"

    @property
    def spec(self) -> ToolSpec:
        """The tool as offered to a model."""
        return ToolSpec(self.name, self.description, self.parameters)


@dataclass(frozen=True, slots=True)
class ToolScope:
    """A run's context as its tools see it.

    Attributes:
        evidence: Collects the passages that the tools find.
        top_k: Passages per search, where the knowledge bases do not say.
    """

    run: RunContext
    evidence: Evidence
    top_k: int


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


class ToolError(Exception):
    """Raised by a tool that has nothing to give for a call: its text says why, for the model."""


@cache
def arguments_schema(arguments: type[BaseModel]) -> dict[str, JsonValue]:
    """The JSON Schema of an arguments model, without the titles pydantic adds.

    Made once, as every run asks for it: nobody may change it.
    """
    schema = arguments.model_json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    for prop in schema.get("properties", {}).values():
        prop.pop("title", None)
    return schema


def with_validation(
    arguments: type[ArgumentsT], run: Callable[[ArgumentsT], Awaitable[str]]
) -> Callable[[str], Awaitable[str]]:
    """A call that validates its JSON text against the model before anything runs."""

    async def invoke(text: str) -> str:
        return await run(arguments.model_validate_json(text or "{}"))

    return invoke


class Toolbox:
    """The tools of one run, by name.

    Args:
        tools: those that the run has room for.
        rules: their policies; a tool that is switched off is not offered.
        skills: those that are active keep the run to the tools that they allow.
    """

    def __init__(self, tools: Sequence[Tool], rules: ToolRules | None = None, skills: RunSkills | None = None) -> None:
        rules, self._skills = rules or ToolRules(), skills
        by_name: dict[str, Tool] = {}
        for tool in tools:
            # A caller's tool never takes the place of one of ours, switched off or not.
            if tool.side == "server":
                tool = replace(tool, approval=rules.policies.get(tool.name, tool.approval))
            by_name.setdefault(tool.name, tool)
        self._tools = {name: tool for name, tool in by_name.items() if tool.approval != "never"}
        self._off = rules.forbidden | (by_name.keys() - self._tools.keys())

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools to offer to a model."""
        return tuple(tool.spec for name, tool in self._tools.items() if name in self)

    def __contains__(self, name: str) -> bool:
        return name in self._tools and self.refusal(name) is None

    def refusal(self, name: str) -> str | None:
        """Why the run's skills do not allow one of the tools, for the model; None if they do."""
        tool = self._tools.get(name)
        if self._skills is None or tool is None or name in self._off:
            return None
        # A caller's own tool is not one of those by its name.
        is_for_skills = tool.side == "server" and name in ALWAYS_ALLOWED
        return None if is_for_skills else self._skills.refusal(name, self._tools)

    def get(self, name: str) -> Tool | None:
        """The tool of a name."""
        return self._tools.get(name)

    def call_error(self, name: str, arguments: str) -> str | None:
        """Why a call can't be run as it is, in a sentence for the model; None if it can."""
        if name in self._off:
            return f"The tool {name} is switched off: go on without it."
        tool = self._tools.get(name)
        if tool is None:
            names = ", ".join(tool_name for tool_name in self._tools if tool_name in self) or "none"
            return f"There is no tool {name[:100]!r}. Known tools: {names}."
        if (refusal := self.refusal(name)) is not None:
            return refusal
        try:
            value = parse(arguments or "{}")
        except ValueError:
            return "The arguments are not valid: they are not JSON."
        fault = schema_fault(tool.parameters, value)
        return f"The arguments are not valid: {fault}." if fault else None

    async def call(self, name: str, arguments: str, *, call_id: str = "", is_approved: bool = False) -> ToolOutput:
        """Run a tool; every failure comes back as a sentence the model can act on.

        Args:
            arguments: JSON text.
            call_id: for tools that must know a repeated call by it.
            is_approved: whether a person has agreed to it.
        """
        tool = self._tools.get(name)
        is_waiting = tool is not None and tool.needs_others and not is_approved
        if tool is None or is_waiting or name in self._off or self.refusal(name) is not None:
            # Unknown, switched off, not allowed, or arguments that nobody need be asked about.
            why = self.call_error(name, arguments)
            return ToolOutput(why or f"The tool {name} needs an answer first.", ran=False)
        _call_id.set(call_id)
        content = await _tried(tool, tool.invoke, arguments)
        if isinstance(content, ToolOutput):
            return content
        return ToolOutput(truncate_output(content, tool.output_characters))

    async def preview_call(self, name: str, arguments: str) -> CallPreview | ToolOutput:
        """What a call needs and would do, or at once its result where it can't be made.

        Args:
            arguments: JSON text.
        """
        tool = self._tools.get(name)
        if tool is None or tool.preview is None or self.call_error(name, arguments) is not None:
            # The call itself tells what is wrong.
            return CallPreview()
        return await _tried(tool, tool.preview, arguments)


async def _tried(tool: Tool, work: Callable[[str], Awaitable[ResultT]], arguments: str) -> ResultT | ToolOutput:
    """What a tool gives, or why it gives nothing, for the model."""
    try:
        async with asyncio.timeout(tool.timeout_seconds):
            return await work(arguments)
    except ValidationError as error:
        return ToolOutput(f"The arguments are not valid: {validation_summary(error)}.", ran=False)
    except ToolError as why:
        return ToolOutput(truncate_output(str(why), tool.output_characters), ran=False)
    except TimeoutError:
        return ToolOutput(f"The tool {tool.name} took longer than {tool.timeout_seconds:g} s.", failure=AgentexError())
    except AgentexError as error:
        return ToolOutput(f"The tool {tool.name} failed: {error.message}.", failure=error)
    # A tool's fault must not end the run; the model is told and may go another way.
    except Exception as error:  # noqa: BLE001
        _log.error("tool.failed", tool=tool.name, error=type(error).__name__)
        return ToolOutput(f"The tool {tool.name} failed.", failure=AgentexError())


def current_call_id() -> str:
    """The id of the call that runs, the same when it is tried again; empty outside of one."""
    return _call_id.get()


def argument_error(tool: str, fault: InvalidRequest) -> ValidationError:
    """A fault found while a tool runs as that of an argument: the model is told which and why."""
    reason = PydanticCustomError("fault", "{reason}", {"reason": str(fault.details["error"])})
    details = InitErrorDetails(type=reason, loc=(str(fault.details["field"]),), input=None)
    return ValidationError.from_exception_data(tool, [details])


def truncate_output(content: str, limit: int = LONGEST_OUTPUT) -> str:
    """A tool's result as models are given it: never empty, and cut where it is too long."""
    if not content:
        return "(no output)"
    if len(content) <= limit:
        return content
    return f"{content[:limit]}\n(cut: {len(content) - limit} more characters)"


def validation_summary(error: ValidationError) -> str:
    """Field and rule of each fault, without the values that were sent."""
    return "; ".join(
        ": ".join(part for part in (".".join(map(str, fault["loc"])), fault["msg"]) if part)
        for fault in error.errors(include_url=False, include_input=False, include_context=False)
    )
