"""Imports every table, so that one metadata object holds them all."""

from sqlalchemy import MetaData
from sqlmodel import SQLModel

import agents.calendar.tables
import agents.mcp.tables
import agents.memory.tables
import agents.model_registry.tables
import agents.policies.tables
import agents.tables
import core.audit.models
import core.auth.models
import core.db.outbox
import core.runtime_config.models
import kb_service.attached_images
import kb_service.models
import skills.models

MODULES = (
    agents.calendar.tables,
    agents.memory.tables,
    agents.mcp.tables,
    agents.model_registry.tables,
    agents.policies.tables,
    agents.tables,
    core.accounts.models,
    core.audit.tables,
    core.database.outbox,
    core.system_config.tables,
    kb_service.attached_images,
    kb_service.models,
    skills.tables,
)


def all_tables() -> MetaData:
    """The metadata of every table of the product."""
    return SQLModel.metadata
