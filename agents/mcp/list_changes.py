"""Notices of servers that a list of theirs has changed."""

import asyncio
from contextlib import suppress

import mcp_types
from mcp.client.session import ClientSession
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from agents.mcp.change_queue import ListKind
from agents.mcp.errors import collect_faults

_KINDS: dict[type, ListKind] = {
    mcp_types.ToolListChangedNotification: "tools",
    mcp_types.ResourceListChangedNotification: "resources",
    mcp_types.PromptListChangedNotification: "prompts",
}
_ATTEMPTS = 4
_PAUSE_SECONDS = 1.0


def changed_list(notification: object) -> ListKind | None:
    """Which list a notification says has changed; None for other notifications."""
    return _KINDS.get(type(notification))


async def subscribe(session: ClientSession) -> None:
    """Keep a stream of notices open, where the protocol's version has them on request only.

    The session hears the notices themselves. A server that ends the stream again and again is left alone: its lists
    are then asked for by their age.
    """
    offered = session.server_capabilities
    if session.protocol_version not in MODERN_PROTOCOL_VERSIONS or offered is None:
        return
    tools = offered.tools is not None and bool(offered.tools.list_changed)
    resources = offered.resources is not None and bool(offered.resources.list_changed)
    prompts = offered.prompts is not None and bool(offered.prompts.list_changed)
    if not (tools or resources or prompts):
        return
    collect_faults()
    for attempt in range(_ATTEMPTS):
        with suppress(SubscriptionLost):
            async with listen(
                session, tools_list_changed=tools, resources_list_changed=resources, prompts_list_changed=prompts
            ) as notices:
                async for _ in notices:
                    pass
        await asyncio.sleep(_PAUSE_SECONDS * 2**attempt)
