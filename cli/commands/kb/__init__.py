"""The registry of ``agentex kb``; each command is in the module of its name."""

from cli.command import command_group
from cli.commands.kb import access, manage, preview, reindex, share, source, transfer

app = command_group(
    "Create, list, show and delete knowledge bases.",
    {
        "preview": preview.preview,
        "reindex": reindex.reindex,
        "create": manage.create,
        "list": manage.list_knowledge_bases,
        "show": manage.show,
        "parser": manage.set_parser,
        "delete": manage.delete,
        "share": share.share,
        "access": access.access,
        "source": command_group(
            "Sources: web sites, feeds, repositories, buckets, mailboxes, databases, wikis and folders to keep a knowledge base in step with.",
            {
                "list": source.list_sources,
                "add": source.add,
                "credentials": source.credentials,
                "sync": source.sync,
                "failures": source.failures,
                "delete": source.delete,
            },
        ),
        "export": transfer.export,
        "import": transfer.import_file,
        "copy": transfer.copy,
    },
)
