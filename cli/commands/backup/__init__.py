"""The registry of ``agentex backup``; each command is in the module of its name."""

from cli.command import command_group
from cli.commands.backup import create, restore, verify

app = command_group(
    "Back up everything while Agentex runs, check backups, and restore them.",
    {"create": create.create, "verify": verify.verify, "restore": restore.restore},
)
