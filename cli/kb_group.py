"""``agentex kb`` with all its commands; each adds one line here."""

from cli import kb_access, kb_share, kb_transfer
from cli.kb import app

app.command()(kb_share.share)
app.command()(kb_access.access)
app.command("export")(kb_transfer.export)
app.command("import")(kb_transfer.import_file)
app.command("copy")(kb_transfer.copy)

__all__ = ["app"]
