"""The routers, one noun each; adding one is one file and one line here."""

from api.accounts import admin_keys, admin_roles, admin_users, audit, auth, oidc, quota, users
from api.agents import (
    agentex,
    agui,
    async_runs,
    attachments,
    calendar,
    history,
    mcp,
    memories,
    session_exports,
    sessions,
    tasks,
    tool_policies,
)
from api.http.routing import Router
from api.knowledge_bases import (
    archive_upload,
    chunks,
    document_access,
    document_actions,
    document_content,
    documents,
    evaluations,
    knowledge_base_shares,
    knowledge_bases,
    progress,
    questions,
    reindex,
    retrieval_log,
    search,
    search_explain,
    split_preview,
    transfers,
)
from api.llm import admin as model_admin
from api.llm import models
from api.skills import (
    comparisons as skill_comparisons,
)
from api.skills import (
    editor as skill_editor,
)
from api.skills import (
    exports as skill_exports,
)
from api.skills import (
    files as skill_files,
)
from api.skills import (
    imports as skill_imports,
)
from api.skills import (
    lint_routes as skill_lint,
)
from api.skills import (
    mcp_server,
    skills,
)
from api.skills import (
    shares as skill_shares,
)
from api.skills import (
    trigger_tests as skill_trigger_tests,
)
from api.skills import (
    versions as skill_versions,
)
from api.system import health, home, jwks, metrics, system

ROUTERS: tuple[Router, ...] = (
    auth.router,
    oidc.router,
    quota.router,
    system.router,
    audit.router,
    users.router,
    admin_users.router,
    admin_keys.router,
    admin_roles.router,
    tool_policies.router,
    sessions.router,
    session_exports.router,
    memories.router,
    models.router,
    model_admin.router,
    mcp.router,
    mcp_server.router,
    knowledge_bases.router,
    knowledge_base_shares.router,
    reindex.router,
    document_actions.router,
    documents.router,
    document_access.router,
    archive_upload.router,
    document_content.router,
    chunks.router,
    split_preview.router,
    progress.router,
    search.router,
    search_explain.router,
    retrieval_log.router,
    questions.router,
    evaluations.router,
    transfers.router,
    skill_lint.router,
    skill_editor.router,
    skill_imports.router,
    skill_exports.router,
    skills.router,
    skill_versions.router,
    skill_files.router,
    skill_shares.router,
    skill_trigger_tests.router,
    skill_comparisons.router,
    attachments.router,
    calendar.router,
    agentex.router,
    agui.router,
    tasks.router,
    async_runs.router,
    history.router,
    jwks.router,
    health.router,
    metrics.router,
    home.router,
)
