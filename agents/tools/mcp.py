"""Tools of the MCP servers that the run's owner is connected to."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from pydantic import JsonValue

from agents.mcp.agent_tools import RemoteTool
from agents.mcp.elicitation import read_answer
from agents.mcp.exchange import AnswerTooLate, CallFeed, CallReply, InputNeeded, McpProgress
from agents.tools.base import Tool, ToolError, ToolScope, argument_error
from agents.tools.json_schema import schema_fault
from agents.tools.live_call import CallQuestion, CallSuspended, ProgressReport, live_call
from core.auth.permissions import Permission
from core.errors.requests import InvalidRequest
from core.json_access import as_object, parse
from core.settings.tool_policies import ToolPolicy

# Policies come with the connections of each person.
POLICIES: Mapping[str, ToolPolicy] = {}
PERMISSIONS: Mapping[str, Permission] = {}

_TOO_LATE = (
    "The server had asked the user something, and its call ended before the answer came. Whether the call took "
    "effect is not known. Check that before it is made again."
)


def tools(scope: ToolScope) -> list[Tool]:
    """The tools of the run's connections."""
    return [
        Tool(
            name=remote.name,
            description=remote.description,
            parameters=remote.parameters,
            is_foreign=True,
            invoke=_checked(remote),
            timeout_seconds=remote.timeout_seconds,
            approval=remote.policy,
            idempotent=remote.is_idempotent,
        )
        for remote in scope.run.remote_tools
    ]


def _checked(remote: RemoteTool) -> Callable[[str], Awaitable[str]]:
    """A call that checks its JSON text against the server's schema before sending."""

    async def invoke(text: str) -> str:
        try:
            value = parse(text or "{}")
        except ValueError:
            fault = "not JSON"
        else:
            fault = schema_fault(remote.parameters, value)
            if not fault:
                return await _invoke(remote, as_object(value))
        raise argument_error(remote.name, InvalidRequest("arguments", fault))

    return invoke


async def _invoke(remote: RemoteTool, arguments: dict[str, JsonValue]) -> str:
    """Make a call or go on with it; raises ``CallSuspended`` where its server asks a person."""
    live = live_call()
    reply = None if live.reply is None else CallReply(read_answer(live.reply["answer"]), live.reply["state"])

    def show(progress: McpProgress) -> None:
        live.show_progress(ProgressReport(progress.progress, progress.total, progress.message))

    feed = CallFeed(live.key, show, reply)
    try:
        try:
            return await remote.invoke(arguments, feed)
        except AnswerTooLate:
            if not remote.is_idempotent:
                raise ToolError(_TOO_LATE) from None
            # It may be made anew, and then its server asks anew.
            return await remote.invoke(arguments, replace(feed, reply=None))
    except InputNeeded as needed:
        question = needed.question
        call_question = CallQuestion(
            remote.server, question.message, question.answer_schema, question.url, needed.state, needed.seconds
        )
        raise CallSuspended(call_question) from None
