"""Faults of MCP servers, in our own words."""

from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum

from agents.tool_names import LeftOutTool
from core.errors.base import AgentexError
from core.errors.requests import UrlNotAllowed
from core.errors.server import McpResultTooLarge, McpUnavailable


class McpFault(StrEnum):
    """Why a server could not be used; the value is for people."""

    NOT_ALLOWED = "its address is not allowed"
    UNREACHABLE = "it can't be reached"
    NO_ANSWER = "it did not answer in time"
    UNAUTHORISED = "it does not accept the credentials"
    NEEDS_AUTHORIZATION = "it has to be authorised first, on the page of the connection"
    INSUFFICIENT_SCOPE = "it asks for more rights than it was authorised for: authorise it again"
    NOT_RENEWED = "its authorisation can't be renewed now, as its authorization server gives no usable answer"
    REFUSED = "it refused the request"
    REDIRECTED = "it redirects to another address, which is not followed"
    SESSION_LOST = "it does not know the session that it has just opened"
    NOT_MCP = "it does not speak the protocol"
    BROKE_OFF = "the connection broke off"
    TOO_LARGE = "its answer is too large"
    PAUSED = "it failed before and is left alone for a while"
    CLOSED = "Agentex closed the connection"


_ZH = {
    McpFault.NOT_ALLOWED: "不允许访问其地址",
    McpFault.UNREACHABLE: "无法连接",
    McpFault.NO_ANSWER: "没有及时响应",
    McpFault.UNAUTHORISED: "不接受凭据",
    McpFault.NEEDS_AUTHORIZATION: "需要先在连接页面完成授权",
    McpFault.INSUFFICIENT_SCOPE: "需要比已授权更多的权限，请重新授权",
    McpFault.NOT_RENEWED: "授权服务器未响应，暂时无法续期授权",
    McpFault.REFUSED: "拒绝了请求",
    McpFault.REDIRECTED: "重定向到其他地址，未跟随",
    McpFault.SESSION_LOST: "不认识它刚刚建立的会话",
    McpFault.NOT_MCP: "不符合 MCP 协议",
    McpFault.BROKE_OFF: "连接中断",
    McpFault.TOO_LARGE: "响应过大",
    McpFault.PAUSED: "此前连接失败，暂停重试",
    McpFault.CLOSED: "连接已由 Agentex 关闭",
}


OF_AUTHORIZATION = frozenset({McpFault.NEEDS_AUTHORIZATION, McpFault.INSUFFICIENT_SCOPE})
"""What the owner mends by authorizing the connection."""


def is_of_server(error: AgentexError) -> bool:
    """Whether a failure says that a server does not work, so that it had better be left alone for a while."""
    others = (McpFault.NOT_ALLOWED, McpFault.NOT_RENEWED, *OF_AUTHORIZATION)
    return error.details.get("fault") not in {fault.name.lower() for fault in others}


def mcp_error(fault: McpFault) -> AgentexError:
    """The error for a fault."""
    if fault is McpFault.TOO_LARGE:
        return McpResultTooLarge(reason="tool_result_too_large")
    return McpUnavailable(reason=fault.value, reason_zh=_ZH[fault], fault=fault.name.lower())


def address_refused(refusal: UrlNotAllowed) -> AgentexError:
    """The error for an address that is not allowed, with what the operator may do about it."""
    details = {key: str(value) for key, value in refusal.details.items() if key != "field"}
    error, error_zh = details.pop("error"), details.pop("error_zh")
    fault = McpFault.NOT_ALLOWED
    return McpUnavailable(
        reason=f"{fault.value}: {error}", reason_zh=f"{_ZH[fault]}：{error_zh}", fault=fault.name.lower(), **details
    )


@dataclass(slots=True)
class FaultNote:
    """What a transport observed of a request, for the code that made it.

    Attributes:
        status: of the HTTP response; None for other transports.
        has_session: whether the request named a session that the server had given.
        left_out: tools of a list that can't be read.
    """

    fault: McpFault | None = None
    status: int | None = None
    has_session: bool = False
    left_out: list[LeftOutTool] = field(default_factory=list[LeftOutTool])


_current: ContextVar[FaultNote | None] = ContextVar("mcp_note", default=None)


def collect_faults() -> FaultNote:
    """A new note for the requests that this task makes from now on."""
    note = FaultNote()
    _current.set(note)
    return note


def current_note() -> FaultNote:
    """The note of the request in whose context this runs; one that nobody reads where there is none."""
    return _current.get() or FaultNote()


def report_fault(fault: McpFault) -> None:
    """Note a fault for the request in whose context this runs."""
    current_note().fault = fault


class McpRefusal(Exception):
    """A JSON-RPC error of the server, whose text is untrusted data."""

    def __init__(self, text: str) -> None:
        super().__init__("the server answered with an error")
        self.text = text


class McpSessionLost(Exception):
    """The server does not know the session any more, and can't have carried out the request.

    ``failure`` is the error if it does not know the next one either.
    """

    def __init__(self, failure: Exception) -> None:
        super().__init__("the server does not know the session")
        self.failure = failure
