"""Named permissions and the built-in roles."""

from dataclasses import dataclass
from enum import StrEnum


class Permission(StrEnum):
    """What a role may allow (seed 002, section 3.1: ``models:view``, ``mcp:create``, ...)."""

    KB_VIEW = "kb:view"
    KB_WRITE = "kb:write"
    SKILL_VIEW = "skill:view"
    SKILL_WRITE = "skill:write"
    SESSION_VIEW = "session:view"
    SESSION_WRITE = "session:write"
    MEMORY_VIEW = "memory:view"
    MEMORY_WRITE = "memory:write"
    AGENT_RUN = "agent:run"
    CALENDAR_VIEW = "calendar:view"
    CALENDAR_WRITE = "calendar:write"
    MODELS_VIEW = "models:view"
    MODELS_MANAGE = "models:manage"
    MCP_VIEW = "mcp:view"
    MCP_CREATE = "mcp:create"
    RULE_VIEW = "rule:view"
    RULE_WRITE = "rule:write"
    USERS_MANAGE = "users:manage"
    SYSTEM_MANAGE = "system:manage"


@dataclass(frozen=True)
class BuiltInRole:
    """A role that every installation has; ``display_name`` is Chinese, as in the reference."""

    name: str
    display_name: str
    permissions: tuple[Permission, ...]


_VIEW = (
    Permission.KB_VIEW,
    Permission.SKILL_VIEW,
    Permission.SESSION_VIEW,
    Permission.SESSION_WRITE,
    Permission.MEMORY_VIEW,
    Permission.MEMORY_WRITE,
    Permission.AGENT_RUN,
    Permission.CALENDAR_VIEW,
    Permission.CALENDAR_WRITE,
    Permission.MODELS_VIEW,
    Permission.MCP_VIEW,
    Permission.RULE_VIEW,
)
_USE = (*_VIEW, Permission.KB_WRITE, Permission.SKILL_WRITE)
_DEVELOP = (*_USE, Permission.MCP_CREATE, Permission.RULE_WRITE)

BUILT_IN_ROLES = (
    BuiltInRole("admin", "管理员", tuple(Permission)),
    BuiltInRole("developer", "开发者", _DEVELOP),
    BuiltInRole("user", "用户", _USE),
    BuiltInRole("viewer", "访客", _VIEW),
)
DEFAULT_ROLE = "user"
ADMIN_ROLE = "admin"
