"""``agentex admin``: what administrators do; its groups are modules of their own."""

import typer

from cli import admin_audit, admin_config, admin_keys, admin_models, admin_roles, admin_users
from cli.command import client_command

app = typer.Typer(
    no_args_is_help=True, help="Accounts, roles, keys, models, settings and the audit log."
)
app.add_typer(admin_users.app, name="users")
app.add_typer(admin_roles.app, name="roles")
app.add_typer(admin_keys.app, name="keys")
app.add_typer(admin_models.app, name="models")
app.add_typer(admin_config.app, name="config")
client_command(app)(admin_audit.audit)
