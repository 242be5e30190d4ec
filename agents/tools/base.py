"""Tools, and the only place that calls them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from agents.evidence import Evidence
from agents.llm.base import ToolSpec
from agents.llm.providers import WireProtocol
from agents.llm.tool_schemas import SchemaFault, normal_schema
from agents.run_context import RunContext, ToolRules
from agents.skills.run_skills import ALWAYS_ALLOWED, RunSkills
from agents.tool_names import LeftOutTool
from agents.tools.json_schema import schema_fault
from agents.tools.live_call import CallSuspended, LiveCall, enter_call, live_call
from core.errors.base import AgentexError
from core.errors.requests import InvalidRequest
from core.json_access import parse
from core.logging import get_logger
from core.settings.tool_policies import ToolPolicy

ArgumentsT = TypeVar("ArgumentsT", bound=BaseModel)
ResultT = TypeVar("ResultT")
LONGEST_OUTPUT = 20_000
"""Characters of a result that a model is given, where a tool does not say otherwise."""

# More in one request are refused by OpenAI's endpoint as a whole.
_MOST_OFFERED = 128
_SHADOWED = ("another tool of the run has this name: give it another one", "本次运行中已有同名工具：请换一个名称")
_TOO_MANY = (
    f"a run offers at most {_MOST_OFFERED} tools: bring fewer, or name the connections that the run shall use",
    f"一次运行最多提供 {_MOST_OFFERED} 个工具：请减少工具，或指定本次运行使用的连接",
)

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class UserPrompt:
    """A question of a tool to a person; ``schema`` is the JSON Schema of the answer.

    ``fills`` is the object argument that the answer goes into before the call is made; if empty, the
    answer is the call's result.
    """

    reason: Literal["confirmation", "input_required"]
    message: str
    schema: dict[str, JsonValue]
    fills: str = ""


@dataclass(frozen=True, slots=True)
class CallPreview:
    """A question to ask before a call, and the skill (JSON) that the call would load.

    The skill limits tools even while the call waits.
    """

    question: UserPrompt | None = None
    skill: dict[str, JsonValue] | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool the model may call.

    Attributes:
        parameters: JSON Schema of the arguments.
        invoke: Validates the arguments (JSON text) and returns the result as text.
        own_name: What its owner calls it, if endpoints do not take that name.
        is_foreign: Described by a frontend or an MCP server.
        approval: ``auto`` runs at once, ``ask`` needs a person, ``never`` is switched off; a run's
            rules take precedence.
        idempotent: May be repeated if its outcome is unknown.
        in_order: Never runs beside another call of the same turn.
        side: ``client`` runs in the caller's frontend, never here.
        question: Set if the tool is a question to a person; gets the arguments (JSON text).
        preview: Finds out what a call (JSON text) needs and would do. Calls of such a tool run
            before all others of their turn.
    """

    name: str
    description: str
    parameters: dict[str, JsonValue]
    invoke: Callable[[str], Awaitable[str]]
    timeout_seconds: float = 30
    output_characters: int = LONGEST_OUTPUT
    own_name: str = ""
    is_foreign: bool = False
    approval: ToolPolicy = "auto"
    idempotent: bool = False
    in_order: bool = False
    side: Literal["server", "client"] = "server"
    question: Callable[[str], UserPrompt] | None = None
    preview: Callable[[str], Awaitable[CallPreview]] | None = None

    @property
    def needs_others(self) -> bool:
        return self.side == "client" or self.question is not None or self.approval == "ask"

    @property
    def label(self) -> str:
        """The name by which its owner knows it."""
        return self.own_name or self.name


@dataclass(frozen=True, slots=True)
class ToolScope:
    """A run's context as its tools see it.

    ``top_k`` applies to knowledge bases without a setting.
    """

    run: RunContext
    evidence: Evidence
    top_k: int


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The result of a call, or a sentence on why there is none.

    Attributes:
        ran: Whether the text is from the tool itself.
        failure: Set if the tool broke, for strategies that can't go on without it.
    """

    content: str
    ran: bool = True
    failure: AgentexError | None = None


class ToolError(Exception):
    """Raised by a tool that has nothing to give for a call: its text says why, for the model."""


@cache
def arguments_schema(arguments: type[BaseModel]) -> dict[str, JsonValue]:
    """The JSON Schema of an arguments model, without pydantic's titles.

    Cached and shared: do not modify it.
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
    """A call that validates its JSON text against the model first."""

    async def invoke(text: str) -> str:
        return await run(arguments.model_validate_json(text or "{}"))

    return invoke


class Toolbox:
    """The tools of one run, by name; ``rules`` switch tools off, active ``skills`` restrict them.

    Attributes:
        left_out: Tools that the model is not offered, as their schemas or names can't be sent in ``protocol``.
    """

    def __init__(
        self,
        tools: Sequence[Tool],
        rules: ToolRules | None = None,
        skills: RunSkills | None = None,
        protocol: WireProtocol = "openai",
    ) -> None:
        rules, self._skills = rules or ToolRules(), skills
        self.left_out: list[LeftOutTool] = []
        by_name: dict[str, Tool] = {}
        for tool in tools:
            # A caller's tool never takes the place of one of ours, switched off or not.
            if tool.side == "server":
                tool = replace(tool, approval=rules.policies.get(tool.name, tool.approval))
            if by_name.setdefault(tool.name, tool) is not tool:
                self.left_out.append(LeftOutTool(tool.label, *_SHADOWED))
        enabled = [tool for tool in by_name.values() if tool.approval != "never"]
        self._off = rules.forbidden | (by_name.keys() - {tool.name for tool in enabled})
        self._specs = self._described(enabled, protocol)
        self._tools = {tool.name: tool for tool in enabled if tool.name in self._specs}
        self._by_own_name = {tool.own_name: tool for tool in self._tools.values() if tool.own_name}

    def _described(self, tools: Sequence[Tool], protocol: WireProtocol) -> dict[str, ToolSpec]:
        """What is offered of each tool; those that can't be offered are left out."""
        specs: dict[str, ToolSpec] = {}
        for tool in tools:
            schema = normal_schema(tool.parameters, protocol)
            if isinstance(schema, SchemaFault):
                self.left_out.append(LeftOutTool(tool.label, schema.en, schema.zh))
            else:
                specs[tool.name] = ToolSpec(tool.name, tool.description, schema, tool.own_name, tool.is_foreign)
        # A frontend's tools are there for this very request, those of MCP servers for any.
        ranked = sorted((tool for tool in tools if tool.name in specs), key=_rank)
        for tool in ranked[_MOST_OFFERED:]:
            self.left_out.append(LeftOutTool(tool.label, *_TOO_MANY))
            del specs[tool.name]
        return specs

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(spec for name, spec in self._specs.items() if name in self)

    def __contains__(self, name: str) -> bool:
        return name in self._tools and self.refusal(name) is None

    def label(self, name: str) -> str:
        """The name by which the owner of a tool knows it; the name itself if there is no such tool."""
        tool = self.get(name)
        return name if tool is None else tool.label

    def refusal(self, name: str) -> str | None:
        """Why the run's skills forbid a tool, for the model; None if they don't."""
        tool = self.get(name)
        if self._skills is None or tool is None or name in self._off:
            return None
        # A caller's tool never counts as a server tool of the same name.
        is_for_skills = tool.side == "server" and name in ALWAYS_ALLOWED
        return None if is_for_skills else self._skills.refusal(tool.label, [t.label for t in self._tools.values()])

    def get(self, name: str) -> Tool | None:
        """The tool of a name, or of the name that its owner gave it."""
        return self._tools.get(name) or self._by_own_name.get(name)

    def call_error(self, name: str, arguments: str) -> str | None:
        """Why a call can't be run as it is, in a sentence for the model; None if it can."""
        if name in self._off:
            return f"The tool {name} is switched off: go on without it."
        tool = self.get(name)
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

    async def call(
        self, name: str, arguments: str, *, live: LiveCall | None = None, is_approved: bool = False
    ) -> ToolOutput:
        """Run a tool; every failure comes back as a sentence the model can act on.

        Raises ``CallSuspended`` where a person has to answer before the call goes on.
        """
        tool = self.get(name)
        is_waiting = tool is not None and tool.needs_others and not is_approved
        if tool is None or is_waiting or name in self._off or self.refusal(name) is not None:
            why = self.call_error(name, arguments)
            return ToolOutput(why or f"The tool {name} needs an answer first.", ran=False)
        enter_call(live or LiveCall())
        content = await _tried(tool, tool.invoke, arguments)
        if isinstance(content, ToolOutput):
            return content
        return ToolOutput(truncate_output(content, tool.output_characters))

    async def preview_call(self, name: str, arguments: str) -> CallPreview | ToolOutput:
        """The preview of a call (JSON text), or its result if it can't be made."""
        tool = self.get(name)
        if tool is None or tool.preview is None or self.call_error(name, arguments) is not None:
            # The call itself will report the fault.
            return CallPreview()
        return await _tried(tool, tool.preview, arguments)


def _rank(tool: Tool) -> int:
    if not tool.is_foreign:
        return 0
    return 1 if tool.side == "client" else 2


async def _tried(tool: Tool, work: Callable[[str], Awaitable[ResultT]], arguments: str) -> ResultT | ToolOutput:
    """A tool's result, or a sentence for the model on why there is none."""
    try:
        async with asyncio.timeout(tool.timeout_seconds):
            return await work(arguments)
    except CallSuspended:
        raise
    except ValidationError as error:
        return ToolOutput(f"The arguments are not valid: {validation_summary(error)}.", ran=False)
    except ToolError as why:
        return ToolOutput(truncate_output(str(why), tool.output_characters), ran=False)
    except TimeoutError:
        return ToolOutput(f"The tool {tool.name} took longer than {tool.timeout_seconds:g} s.", failure=AgentexError())
    except AgentexError as error:
        return ToolOutput(f"The tool {tool.name} failed: {_explained(error)}.", failure=error)
    # A tool's fault must not end the run: the model can react to it.
    except Exception as error:  # noqa: BLE001
        _log.error("tool.failed", tool=tool.name, error=type(error).__name__)
        return ToolOutput(f"The tool {tool.name} failed.", failure=AgentexError())


def _explained(error: AgentexError) -> str:
    """The message with its reason, which callers over HTTP get in the details."""
    reason = error.details.get("reason")
    return f"{error.message}: {reason.removesuffix('.')}" if isinstance(reason, str) and reason else error.message


def current_call_id() -> str:
    """The id of the running call, the same when repeated; empty outside of a call."""
    return live_call().id


def argument_error(tool: str, fault: InvalidRequest) -> ValidationError:
    """A fault at run time as a validation error, which tells the model the argument."""
    reason = PydanticCustomError("fault", "{reason}", {"reason": str(fault.details["error"])})
    details = InitErrorDetails(type=reason, loc=(str(fault.details["field"]),), input=None)
    return ValidationError.from_exception_data(tool, [details])


def truncate_output(content: str, limit: int = LONGEST_OUTPUT) -> str:
    """A tool's result for models: never empty, and cut if too long."""
    if not content:
        return "(no output)"
    if len(content) <= limit:
        return content
    return f"{content[:limit]}\n(cut: {len(content) - limit} more characters)"


def validation_summary(error: ValidationError) -> str:
    """Field and rule of each fault, without the submitted values."""
    return "; ".join(
        ": ".join(part for part in (".".join(map(str, fault["loc"])), fault["msg"]) if part)
        for fault in error.errors(include_url=False, include_input=False, include_context=False)
    )
