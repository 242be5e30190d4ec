"""Subscriptions to a server's resources, so that it says when they change."""

from contextlib import suppress

import mcp_types
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from agents.mcp.text_lists import list_resources

_MOST_RESOURCES = 100
"""Subscribed to at one server, in the order in which it lists them."""


async def subscribe_resources(session: ClientSession) -> None:
    """Subscribe to what a server lists, where it offers that; a resource that it refuses is left out."""
    offered = session.server_capabilities
    if session.protocol_version in MODERN_PROTOCOL_VERSIONS or offered is None or offered.resources is None:
        return
    if not offered.resources.subscribe:
        return
    listed = [resource for resource in await list_resources(session) if not resource.is_template]
    for resource in listed[:_MOST_RESOURCES]:
        request = mcp_types.SubscribeRequest(params=mcp_types.SubscribeRequestParams(uri=resource.uri))
        with suppress(MCPError):
            await session.send_request(request, mcp_types.EmptyResult)
