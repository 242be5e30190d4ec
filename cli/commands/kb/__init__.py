"""The registry of ``agentex kb``; each command is in the module of its name."""

from cli.command import command_group
from cli.commands.kb import access, manage, preview, reindex, share, transfer

app = command_group(
    "Create, list, show and delete knowledge bases.",
    {
        "preview": preview.preview,
        "reindex": reindex.reindex,
        "create": manage.create,
        "list": manage.list_knowledge_bases,
        "show": manage.show,
        "delete": manage.delete,
        "share": share.share,
        "access": access.access,
        "export": transfer.export,
        "import": transfer.import_file,
        "copy": transfer.copy,
    },
)
