"""The routers of the API: a new one is one line here.

Of paths that overlap, the first one answers.
"""

from importlib import import_module
from typing import cast

from api.http.routing import Router

_MODULES = (
    "accounts.auth",
    "accounts.oidc",
    "accounts.quota",
    "system.system",
    "accounts.audit",
    "accounts.users",
    "accounts.admin_users",
    "accounts.admin_keys",
    "accounts.admin_roles",
    "agents.tool_policies",
    "agents.sessions",
    "agents.session_exports",
    "agents.memories",
    "llm.models",
    "llm.admin",
    "agents.mcp",
    "skills.mcp_server",
    "knowledge_bases.knowledge_bases",
    "knowledge_bases.knowledge_base_shares",
    "knowledge_bases.reindex",
    "knowledge_bases.document_actions",
    "knowledge_bases.documents",
    "knowledge_bases.document_access",
    "knowledge_bases.archive_upload",
    "knowledge_bases.document_content",
    "knowledge_bases.chunks",
    "knowledge_bases.split_preview",
    "knowledge_bases.progress",
    "knowledge_bases.search",
    "knowledge_bases.search_explain",
    "knowledge_bases.retrieval_log",
    "knowledge_bases.questions",
    "knowledge_bases.evaluations",
    "knowledge_bases.transfers",
    "skills.checks",
    "skills.editor",
    "skills.imports",
    "skills.exports",
    "skills.skills",
    "skills.versions",
    "skills.files",
    "skills.shares",
    "skills.trigger_tests",
    "skills.comparisons",
    "agents.attachments",
    "agents.calendar",
    "agents.agentex",
    "agents.agui",
    "agents.tasks",
    "agents.async_runs",
    "agents.history",
    "system.jwks",
    "system.health",
    "system.metrics",
    "system.home",
)
ROUTERS = tuple(cast(Router, import_module(f"api.{name}").router) for name in _MODULES)
