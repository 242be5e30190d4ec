"""The action that calls a tool of an MCP server."""

from typing import ClassVar

from pydantic import JsonValue

from agents.mcp import connections
from agents.mcp.agent_tools import add_tool_policies
from agents.mcp.connections import ConnectionWithTools
from agents.mcp.errors import McpRefusal
from agents.mcp.service import McpCall as ToolCall
from agents.mcp.tools import McpTool, callable_name
from agents.tool_policies.service import effective_policies
from core.auth.permissions import Permission
from core.errors.base import AgentexError
from core.errors.server import McpUnavailable
from rules.actions.base import ActionCall, ActionFailed, ActionServices, OutcomeUnknown, Reason, reason_of

# Faults after which a call may have been made.
_IN_DOUBT = frozenset({"no_answer", "broke_off"})


class McpCallHandler:
    """Calls ``target`` at the connection ``connection_id``, or at the one that the event came from."""

    TYPE: ClassVar[str] = "mcp_call"
    IS_REPEATABLE: ClassVar[bool] = False

    async def missing(self, services: ActionServices, call: ActionCall) -> list[Reason]:
        try:
            await _find(services, call)
        except ActionFailed as failure:
            return [failure.reason]
        except AgentexError as error:
            return [reason_of(error)]
        return []

    async def execute(self, services: ActionServices, call: ActionCall) -> JsonValue:
        connection, tool = await _find(services, call)
        try:
            result = await services.mcp.call(connection.row, ToolCall(tool.name, dict(call.params)))
        except McpRefusal as refusal:
            raise ActionFailed(
                f"The server refused the call: {refusal.text}", f"服务器拒绝了调用：{refusal.text}"
            ) from refusal
        except McpUnavailable as failure:
            if failure.details.get("fault") in _IN_DOUBT and not tool.is_idempotent:
                reason = reason_of(failure)
                raise OutcomeUnknown(reason.error, reason.error_zh) from failure
            raise
        if result.value.get("isError"):
            raise ActionFailed(f"The tool failed: {result.text}", f"工具执行失败：{result.text}")
        return {"text": result.text}


async def _find(services: ActionServices, call: ActionCall) -> tuple[ConnectionWithTools, McpTool]:
    """The connection and its tool, if the rule's owner may call it without being asked.

    Writing the rule is the owner's consent to a tool whose default is to ask. An operator's rule to ask, or
    somebody's own never, stays: nobody is there to be asked.
    """
    connection_id = call.connection_id or call.source_id
    call.owner.require(Permission.AGENT_RUN)
    connections.require_use(call.owner, connection_id)
    async with services.database.reading() as session:
        parsed = services.mcp.tool_lists
        (connection,) = await connections.list_with_tools(session, parsed, call.owner.user_id, [connection_id])
        policies = add_tool_policies(services.policies, [connection])
        in_force = await effective_policies(session, call.owner.user_id, policies)
    if not connection.row.enabled:
        raise ActionFailed(
            f"The connection {connection.row.name!r} is switched off: enable it",
            f"连接 {connection.row.name!r} 已停用：请启用",
        )
    tool = next((tool for tool in connection.tools if tool.name == call.target), None)
    if tool is None:
        raise ActionFailed(
            f"The connection {connection.row.name!r} has no tool {call.target!r}: test the connection to read its tools again",
            f"连接 {connection.row.name!r} 没有工具 {call.target!r}：请测试连接以重新读取其工具",
        )
    name = callable_name(connection.row.name, tool.name)
    if in_force.get(name) == "never" or policies.bounds.get(name) == "ask":
        raise ActionFailed(
            f"The policy of the tool {name} keeps rules from calling it: change it in the tool policies",
            f"工具 {name} 的策略不允许规则调用：请在工具策略中更改",
        )
    return connection, tool
