"""The registry of ``agentex admin``."""

from cli.command import command_group
from cli.commands.admin import audit, config, keys, models, roles, users

app = command_group(
    "Accounts, roles, keys, models, settings and the audit log.",
    {
        "audit": audit.audit,
        "users": users.app,
        "roles": roles.app,
        "keys": keys.app,
        "models": models.app,
        "config": config.app,
    },
)
