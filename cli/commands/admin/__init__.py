"""``agentex admin``: what administrators do; its groups are modules of their own."""

import typer

from cli.command import client_command
from cli.commands.admin import audit, config, keys, models, roles, users

app = typer.Typer(
    no_args_is_help=True, help="Accounts, roles, keys, models, settings and the audit log."
)
app.add_typer(users.app, name="users")
app.add_typer(roles.app, name="roles")
app.add_typer(keys.app, name="keys")
app.add_typer(models.app, name="models")
app.add_typer(config.app, name="config")
client_command(app)(audit.audit)
