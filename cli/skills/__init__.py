"""``agentex skill``: write, check, compare and share skills; each command has a line here.

Those of the first block need no server. Those of the second register themselves.
"""

from cli.skills import (
    answers,
    compare,
    library,
    mend,
    moving,
    publishing,
    scaffold,
    trigger_test,
    validate,
)
from cli.skills.group import app

app.command("new")(scaffold.new)
app.command()(validate.validate)
app.command("fix")(mend.fix)
app.command("diff")(compare.diff)

__all__ = ["answers", "app", "library", "moving", "publishing", "trigger_test"]
