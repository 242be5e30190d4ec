"""The registry of ``agentex rule``; each command is in the module of its name."""

from cli.command import command_group
from cli.commands.rules import dry_run, event_types, logs, manage, share, sources, transfer, versions, write

app = command_group(
    "Write, test, switch and watch rules: when an event comes, do something.",
    {
        "list": manage.list_rules,
        "show": manage.show,
        "create": write.create,
        "update": write.update,
        "edit": write.edit,
        "enable": manage.enable,
        "disable": manage.disable,
        "delete": manage.delete,
        "test": dry_run.try_rule,
        "logs": logs.logs,
        "share": share.share,
        "versions": versions.versions,
        "restore": versions.restore,
        "export": transfer.export,
        "import": transfer.import_rule,
        "types": event_types.types,
        "source": command_group(
            "Event sources: addresses that take signed events of your own programs.",
            {
                "list": sources.list_sources,
                "create": sources.create,
                "rotate": sources.rotate,
                "delete": sources.delete,
            },
        ),
    },
)
