"""Errors of MCP requests: as errors of the protocol, and as results of tools with the next step."""

from collections.abc import Mapping
from typing import Any, cast

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent
from pydantic import JsonValue

from api.http.errors import error_body
from core.errors import auth, conflicts, requests
from core.errors.base import AgentexError

_CORRECT = "Correct what the details name and call again.", "请按 details 中的说明修正后重新调用。"
_AGAIN = (
    "Try again in some seconds; if it goes on, tell the server's operator.",
    "请稍后重试；如果仍然失败，请联系运维人员。",
)
_SEARCH = (
    "Call `search` for the passages and documents that exist now.",
    "请调用 `search` 获取现有的段落和文档。",
)
_NEXT_STEPS: Mapping[type[AgentexError], tuple[str, str]] = {
    auth.KnowledgeBaseNotFound: (
        "Call `list_knowledge_bases` for the ids that you may use.",
        "请调用 `list_knowledge_bases` 获取可用的 id。",
    ),
    auth.ChunkNotFound: _SEARCH,
    auth.DocumentNotFound: _SEARCH,
    auth.SessionNotFound: (
        "Leave session_id out to begin a new conversation.",
        "请省略 session_id，开始新的对话。",
    ),
    auth.PermissionDenied: (
        "Connect with an API key that has this scope, or ask an administrator for the permission.",
        "请使用具有该权限范围的 API 密钥连接，或向管理员申请权限。",
    ),
    auth.InvalidToken: ("Connect again with a valid API key.", "请使用有效的 API 密钥重新连接。"),
    conflicts.InterruptsOpen: (
        "Tell the user to open this conversation in Agentex's console and answer there what it asks; then call `ask` "
        "with its session_id.",
        "请让用户在 Agentex 控制台中打开该对话并回答其中的提问，然后用它的 session_id 再次调用 `ask`。",
    ),
    conflicts.ThreadBusy: (
        "Wait until the conversation's run is over, or leave session_id out.",
        "请等待该对话的运行结束，或省略 session_id。",
    ),
    conflicts.SessionArchived: (
        "Leave session_id out to begin a new conversation.",
        "请省略 session_id，开始新的对话。",
    ),
    requests.UnknownAgentType: ("Use an agent_type of the tool's description.", "请使用工具说明中列出的 agent_type。"),
}


def protocol_error(error: type[AgentexError], details: dict[str, Any], language: str) -> MCPError:
    """The error of a method, with our code in its data."""
    is_theirs = error.status < AgentexError.status
    body = error_body(error, details, language=language).model_dump()
    message = body.pop("message")
    return MCPError(INVALID_PARAMS if is_theirs else INTERNAL_ERROR, message, data=body)


def tool_error(error: type[AgentexError], details: Mapping[str, object], language: str) -> CallToolResult:
    """The result of a call that failed: code, what is wrong and what to do next, for models to go on by."""
    body = error_body(error, dict(details), language=language)
    is_chinese = language.lower().startswith("zh")
    step = _next_step(error, details, is_chinese=is_chinese)
    structured = cast(dict[str, JsonValue], {**body.model_dump(), "next_step": step})
    facts = [f"{name}: {value}" for name, value in body.details.items() if _is_shown(name, body.details, is_chinese)]
    what = f"{body.message} ({'; '.join(facts)})" if facts else body.message
    text = (
        f"错误 {body.code}：{what}。下一步：{step}" if is_chinese else f"Error {body.code}: {what}. Next step: {step}"
    )
    return CallToolResult(is_error=True, content=[TextContent(text=text)], structured_content={"error": structured})


def _next_step(error: type[AgentexError], details: Mapping[str, object], *, is_chinese: bool) -> str:
    own = details.get("next_action_zh" if is_chinese else "next_action")
    if isinstance(own, str):
        return own
    default = _CORRECT if error.status < AgentexError.status else _AGAIN
    return _NEXT_STEPS.get(error, default)[is_chinese]


def _is_shown(name: str, details: Mapping[str, JsonValue], is_chinese: bool) -> bool:
    """Whether the text tells a detail: of one in both languages, the reader's."""
    if name.startswith("next_action"):
        return False
    if name.endswith("_zh"):
        return is_chinese
    return not (is_chinese and f"{name}_zh" in details)
