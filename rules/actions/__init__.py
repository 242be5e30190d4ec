"""What each type of action does. ``set_state`` is not here: it belongs to the decision (``rules/execution/decision.py``)."""

from collections.abc import Mapping

from rules.actions.agent_run import AgentRunHandler
from rules.actions.base import ActionHandler
from rules.actions.ingest import IngestHandler
from rules.actions.mcp_call import McpCallHandler
from rules.actions.notify import NotifyHandler
from rules.actions.search import SearchHandler
from rules.actions.webhook import WebhookHandler

ACTIONS: Mapping[str, ActionHandler] = {
    handler.TYPE: handler
    for handler in (
        McpCallHandler(),
        AgentRunHandler(),
        SearchHandler(),
        IngestHandler(),
        WebhookHandler(),
        NotifyHandler(),
    )
}
"""Every type of action by its name in a definition."""
