"""``agentex kb`` with all its commands; each adds one line here."""

from cli.commands.kb import access, share, transfer
from cli.commands.kb.manage import app

app.command()(share.share)
app.command()(access.access)
app.command("export")(transfer.export)
app.command("import")(transfer.import_file)
app.command("copy")(transfer.copy)

__all__ = ["app"]
