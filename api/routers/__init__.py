"""The routers, one noun each; adding one is one file and one line here."""

from fastapi import APIRouter

from api.dialects import agentex, agui
from api.routers import (
    archives,
    auth,
    chunks,
    document_actions,
    document_content,
    documents,
    evaluations,
    health,
    home,
    knowledge_bases,
    progress,
    questions,
    reindex,
    retrievals,
    search,
    search_why,
    sessions,
    split_preview,
    storage,
    transfers,
    users,
)

ROUTERS: tuple[APIRouter, ...] = (
    auth.router,
    storage.router,
    users.router,
    sessions.router,
    knowledge_bases.router,
    reindex.router,
    document_actions.router,
    documents.router,
    archives.router,
    document_content.router,
    chunks.router,
    split_preview.router,
    progress.router,
    search.router,
    search_why.router,
    retrievals.router,
    questions.router,
    evaluations.router,
    transfers.router,
    agentex.router,
    agui.router,
    health.router,
    home.router,
)
