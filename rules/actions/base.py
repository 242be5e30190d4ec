"""What every action of a rule has in common."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

import httpx
from pydantic import JsonValue

from agents.mcp.service import McpService
from agents.runs.service import RunService
from core.auth.principal import Principal
from core.db.database import Database
from core.errors.base import AgentexError
from core.errors.requests import UrlNotAllowed
from core.settings.tool_policies import ServerPolicies
from ingestion.upload import UploadService
from kb_service.retrieval.service import Searcher

# Ends the name of a detail in Chinese.
_CHINESE = "_zh"


@dataclass(frozen=True)
class ActionServices:
    """What actions work with; ``http`` connects to guarded addresses only."""

    database: Database
    mcp: McpService
    runs: RunService
    searcher: Searcher
    uploads: UploadService
    http: httpx.AsyncClient
    policies: ServerPolicies


@dataclass(frozen=True)
class ActionCall:
    """One action of one firing, with its templates rendered.

    Attributes:
        owner: as whom it acts; read at the time of the call.
        position: its place among the rule's actions.
        target: rendered; empty where the type has none.
        connection_id: the MCP connection that the action names; empty for the event's source.
        source_id: where the event came from.
        chain: the rules that led to it, this one the last.
        event_data: what the event says.
    """

    owner: Principal
    rule_id: str
    rule_name: str
    firing_id: str
    position: int
    target: str
    params: Mapping[str, JsonValue]
    connection_id: str
    source_id: str
    chain: tuple[str, ...]
    event_data: JsonValue = None

    @property
    def key(self) -> str:
        """The same for the same action at the same event."""
        return f"{self.firing_id}:{self.position}"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why an action does not work, for dry runs and a rule's log; each with the next step, where there is one."""

    error: str
    error_zh: str


class ActionFailed(Exception):
    """An action that did not do what it should; ``error`` is shown in the rule's log."""

    def __init__(self, error: str, error_zh: str) -> None:
        super().__init__(error)
        self.reason = Reason(error, error_zh)


class OutcomeUnknown(Exception):
    """An action that may or may not have taken effect; it is not repeated."""

    def __init__(self, error: str, error_zh: str) -> None:
        super().__init__(error)
        self.reason = Reason(error, error_zh)


class ActionHandler(Protocol):
    """A type of action: one module, and one line in ``rules/actions/__init__.py``."""

    TYPE: ClassVar[str]
    IS_REPEATABLE: ClassVar[bool]
    """Whether a second call with the same key has no second effect, so that a crash leaves no doubt."""

    async def missing(self, services: ActionServices, call: ActionCall) -> list[Reason]:
        """What would keep the call from working now; nothing is done."""
        ...

    async def execute(self, services: ActionServices, call: ActionCall) -> JsonValue:
        """Act; returns what the log keeps of it.

        Raises:
            ActionFailed: it did not work, and had no effect.
            OutcomeUnknown: nobody answered, or too late.
            AgentexError: the same, from a service.
        """
        ...


def reason_of(error: AgentexError) -> Reason:
    """An error in words, with its details."""
    facts = {name: value for name, value in error.details.items() if isinstance(value, str | int)}
    own = {name: value for name, value in facts.items() if not name.endswith(_CHINESE)}
    english = ", ".join(f"{name}: {value}" for name, value in own.items())
    chinese = "，".join(f"{name}：{facts.get(name + _CHINESE) or value}" for name, value in own.items())
    return Reason(
        f"{error.message} ({english})" if english else error.message,
        f"{error.message_zh}（{chinese}）" if chinese else error.message_zh,
    )


def address_refused(refusal: UrlNotAllowed) -> ActionFailed:
    """The failure of an action whose address is not allowed."""
    reason = reason_of(refusal)
    return ActionFailed(f"The address must not be called: {reason.error}", f"不允许访问该地址：{reason.error_zh}")


def no_answer(error: Exception) -> ActionFailed:
    """The failure of an action whose address can't be reached."""
    kind = type(error).__name__
    return ActionFailed(f"The address did not answer: {kind}", f"该地址没有响应：{kind}")


def text_of(params: Mapping[str, JsonValue], name: str, *, longest: int, default: str | None = None) -> str:
    """A rendered parameter as text.

    Raises:
        ActionFailed: it is missing, empty or too long.
    """
    value = params.get(name, default)
    text = value if isinstance(value, str) else "" if value is None else str(value)
    # No database takes it.
    text = text.replace("\x00", "")
    if not text.strip() and default is None:
        raise ActionFailed(f"`params.{name}` is empty after rendering", f"`params.{name}` 填充后为空")
    if len(text) > longest:
        raise ActionFailed(
            f"`params.{name}` has {len(text)} characters; at most {longest} are possible",
            f"`params.{name}` 有 {len(text)} 个字符，最多允许 {longest} 个",
        )
    return text


def ids_of(params: Mapping[str, JsonValue], name: str) -> tuple[str, ...] | None:
    """A rendered list of ids; None where it is not given."""
    value = params.get(name)
    if value is None:
        return None
    listed = value if isinstance(value, list) else [value]
    return tuple(str(item) for item in listed)
