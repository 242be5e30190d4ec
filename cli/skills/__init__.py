"""``agentex skill``: write, check, compare and move skills; each command adds one line here."""

import typer

from cli.skills import compare, mend, scaffold, validate

app = typer.Typer(no_args_is_help=True, help="Write, check, compare and share SKILL files.")

app.command("new")(scaffold.new)
app.command()(validate.validate)
app.command("fix")(mend.fix)
app.command("diff")(compare.diff)
