"""Imports every table, so that one metadata object holds them all."""

from sqlalchemy import MetaData
from sqlmodel import SQLModel

import agents.calendar.models
import agents.llm_registry.models
import agents.mcp.models
import agents.memory.models
import agents.models
import agents.tool_policies.models
import core.audit.models
import core.auth.models
import core.db.outbox
import core.runtime_config.models
import kb_service.backup.models
import kb_service.models
import rules.models
import skills.models

MODULES = (
    agents.calendar.models,
    agents.llm_registry.models,
    agents.mcp.models,
    agents.memory.models,
    agents.models,
    agents.tool_policies.models,
    core.audit.models,
    core.auth.models,
    core.db.outbox,
    core.runtime_config.models,
    kb_service.backup.models,
    kb_service.models,
    rules.models,
    skills.models,
)


def all_tables() -> MetaData:
    """The metadata of every table of the product."""
    return SQLModel.metadata
