"""The registry of ``agentex backup``; each command is in the module of its name, ``prune`` beside ``remove``."""

from cli.command import command_group
from cli.commands.backup import create, list, remove, restore, verify

app = command_group(
    "Back up everything while Agentex runs, check backups, and restore them.",
    {
        "create": create.create,
        "list": list.list_all,
        "verify": verify.verify,
        "restore": restore.restore,
        "remove": remove.remove,
        "prune": remove.prune,
    },
)
