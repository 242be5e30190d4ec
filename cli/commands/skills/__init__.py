"""The registry of ``agentex skill``; each command is in the module of its name."""

from cli.command import command_group
from cli.commands.skills import compare_answers, diff, fix, manage, new, publish, transfer, trigger_test, validate

app = command_group(
    "Write, check, compare and share SKILL files.",
    {
        "list": manage.list_skills,
        "show": manage.show,
        "delete": manage.delete,
        "compare": compare_answers.compare_answers,
        "import": transfer.import_skills,
        "export": transfer.export,
        "publish": publish.publish,
        "share": publish.share,
        "review": publish.review,
        "test": trigger_test.try_triggers,
        "new": new.new,
        "validate": validate.validate,
        "fix": fix.fix,
        "diff": diff.diff,
    },
)
