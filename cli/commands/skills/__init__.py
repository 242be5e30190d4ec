"""``agentex skill``: write, check, compare and share skills; each command has a line here.

Those of the first block need no server. Those of the second register themselves.
"""

from cli.commands.skills import (
    compare_answers,
    diff,
    fix,
    manage,
    new,
    publish,
    transfer,
    trigger_test,
    validate,
)
from cli.commands.skills.group import app

app.command("new")(new.new)
app.command()(validate.validate)
app.command("fix")(fix.fix)
app.command("diff")(diff.diff)

__all__ = ["app", "compare_answers", "manage", "publish", "transfer", "trigger_test"]
