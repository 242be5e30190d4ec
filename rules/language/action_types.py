"""The actions of rules, one class for each type.

A new type is a class with its parameters and its name in ``AnyAction``. What an action does is not said here.
"""

import re
from typing import Annotated, Literal
from urllib.parse import SplitResult, urlsplit
from uuid import UUID

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, field_validator, model_validator

from core.text.sanitize import Storable
from core.types.errors import FieldValueError
from core.types.strict import StrictJsonModel
from rules.language.json_bounds import check_json
from rules.language.templates import Template, compile_template

MOST_ACTIONS = 10
MOST_HEADERS = 20
MOST_STATE_KEYS = 20
MOST_IDS = 20

BoundedJson = Annotated[JsonValue, BeforeValidator(check_json)]
"""JSON of bounded size and depth, in texts that can be stored."""

BoundedObject = Annotated[dict[str, JsonValue], BeforeValidator(check_json)]

_Name = Annotated[Storable, Field(min_length=1, max_length=200)]
_ShortText = Annotated[Storable, Field(min_length=1, max_length=500)]
_LongText = Annotated[Storable, Field(min_length=1, max_length=10_000)]
_Ids = Annotated[list[UUID], Field(max_length=MOST_IDS)]
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
# Secrets are kept beside the definition, which everybody reads who may read the rule.
_CONNECTION_HEADERS = ("connection", "content-length", "host", "te", "trailer", "transfer-encoding", "upgrade")
_SECRET_HEADERS = ("authorization", "cookie", "proxy-authorization", "set-cookie", "x-api-key")
_RESERVED_HEADERS = frozenset([*_CONNECTION_HEADERS, *_SECRET_HEADERS])


class _Part(StrictJsonModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Retry(_Part):
    """How an action is tried again."""

    attempts: int = Field(default=3, ge=1, le=5, description="How often it is tried again after the first time.")
    backoff_ms: int = Field(
        default=1_000, ge=0, le=600_000, description="The pause before the first new try; it doubles each time."
    )


class RuleAction(_Part):
    """What all actions have beside their type, target and parameters."""

    on_error: Literal["continue", "stop", "retry"] = Field(
        default="continue",
        description="Whether the next actions run when this one failed; retry stops when it gives up.",
    )
    retry: Retry | None = Field(default=None, description="With on_error retry only.")

    @model_validator(mode="after")
    def _complete_retry(self) -> "RuleAction":
        if self.retry is not None and self.on_error != "retry":
            raise FieldValueError("retry needs on_error to be retry", "retry 需要 on_error 为 retry")
        return self

    @field_validator("params", check_fields=False)
    @classmethod
    def _check_templates(cls, params: _Part | dict[str, JsonValue]) -> _Part | dict[str, JsonValue]:
        compile_template(_as_json(params))
        return params

    @property
    def retries(self) -> Retry | None:
        """How it is tried again, with the defaults filled in; None if it is not."""
        return (self.retry or Retry()) if self.on_error == "retry" else None

    def compile_params(self) -> Template:
        """The parameters, ready to be rendered."""
        params: _Part | dict[str, JsonValue] = getattr(self, "params")  # noqa: B009 - each subclass types it
        return compile_template(_as_json(params))


def _as_json(params: _Part | dict[str, JsonValue]) -> JsonValue:
    return params if isinstance(params, dict) else params.model_dump(mode="json", exclude_none=True)


class McpCallAction(RuleAction):
    """Calls a tool of an MCP server."""

    type: Literal["mcp_call"]
    target: _Name = Field(description="The tool's name.")
    connection_id: UUID | None = Field(default=None, description="The MCP connection; by default the event's source.")
    params: BoundedObject = Field(default_factory=dict, description="The tool's arguments.")


class AgentRunBudget(_Part):
    """What a run may use up before it has to answer; the server's limits hold besides."""

    max_turns: int | None = Field(default=None, ge=1, le=1_000, description="Calls of the model with tools.")
    max_tokens: int | None = Field(default=None, ge=1_000, le=10_000_000, description="Input and output.")
    timeout_seconds: int | None = Field(default=None, ge=5, le=3_600)


class AgentRunParams(_Part):
    """What an agent is asked."""

    prompt: _LongText
    knowledge_base_ids: _Ids = Field(default_factory=list[UUID])
    skill_ids: _Ids = Field(default_factory=list[UUID])
    model_id: _Name | None = None
    budget: AgentRunBudget | None = None


class AgentRunAction(RuleAction):
    """Starts a run of an agent."""

    type: Literal["agent_run"]
    target: _Name | None = Field(default=None, description="The agent type; by default the server's.")
    params: AgentRunParams


class SearchParams(_Part):
    """What is searched for, and where."""

    query: _LongText
    knowledge_base_ids: Annotated[list[UUID], Field(min_length=1, max_length=MOST_IDS)]
    top_k: int = Field(default=5, ge=1, le=50)


class SearchAction(RuleAction):
    """Searches knowledge bases."""

    type: Literal["search"]
    target: None = None
    params: SearchParams


class IngestParams(_Part):
    """A document for a knowledge base: its text, or the address that it is fetched from."""

    knowledge_base_id: UUID
    name: _ShortText
    text: _LongText | None = None
    url: _Name | None = None

    @model_validator(mode="after")
    def _has_content(self) -> "IngestParams":
        if (self.text is None) == (self.url is None):
            raise FieldValueError("Give either text or url", "请在 text 和 url 中填写一个")
        return self


class IngestAction(RuleAction):
    """Adds a document to a knowledge base."""

    type: Literal["ingest"]
    target: None = None
    params: IngestParams


class WebhookParams(_Part):
    """What is sent; its secret is no part of the rule."""

    body: BoundedJson = None
    headers: dict[str, Annotated[Storable, Field(max_length=1_000)]] = Field(
        default_factory=dict, max_length=MOST_HEADERS
    )

    @field_validator("headers")
    @classmethod
    def _check_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if _HEADER.fullmatch(name) is None or any(character in value for character in "\r\n"):
                raise FieldValueError("Use names and values that HTTP allows", "请使用 HTTP 允许的名称和值")
            if name.lower() in _RESERVED_HEADERS:
                words = f"{name} can't be set here; secrets are kept with the rule, not in it"
                raise FieldValueError(words, f"此处不能设置 {name}；密钥不保存在规则定义中")
        return headers


def _parse_address(text: str) -> SplitResult | None:
    try:
        address = urlsplit(text)
        is_usable = address.scheme in {"http", "https"} and bool(address.hostname) and address.port != 0
    except ValueError:
        return None
    return address if is_usable and not any(character.isspace() for character in text) else None


class WebhookAction(RuleAction):
    """Sends an HTTP POST request."""

    type: Literal["webhook"]
    target: Annotated[Storable, Field(min_length=1, max_length=2_000)] = Field(description="An http or https address.")
    params: WebhookParams = Field(default_factory=WebhookParams)

    @field_validator("target")
    @classmethod
    def _check_address(cls, target: str) -> str:
        address = _parse_address(target)
        if address is None:
            words = "Use an address such as https://example.com/hook"
            raise FieldValueError(words, "请使用例如 https://example.com/hook 的地址")
        if address.username or address.password or "{{" in target:
            words = "The address holds no password and no template"
            raise FieldValueError(words, "地址中不能包含密码或模板")
        return target


class NotifyParams(_Part):
    """A message for the rule's owner."""

    title: _ShortText
    text: _LongText
    level: Literal["info", "warning", "error"] = "info"


class NotifyAction(RuleAction):
    """Shows a message to the rule's owner."""

    type: Literal["notify"]
    target: None = None
    params: NotifyParams


class SetStateAction(RuleAction):
    """Keeps values that conditions and templates read as ``state.<key>``."""

    type: Literal["set_state"]
    target: None = None
    params: BoundedObject = Field(description="Keys and their values.")

    @field_validator("params")
    @classmethod
    def _check_keys(cls, params: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if not 1 <= len(params) <= MOST_STATE_KEYS:
            raise FieldValueError(f"Set 1 to {MOST_STATE_KEYS} keys", f"请设置 1 至 {MOST_STATE_KEYS} 个键")
        if any(_KEY.fullmatch(key) is None for key in params):
            words = "A key has letters, digits and underscores, at most 64"
            raise FieldValueError(words, "键由字母、数字和下划线组成，最多 64 个字符")
        return params


AnyAction = Annotated[
    McpCallAction | AgentRunAction | SearchAction | IngestAction | WebhookAction | NotifyAction | SetStateAction,
    Field(discriminator="type"),
]
"""An action of any type: the registry of types, by the value of ``type``."""
