"""``agentex admin``: what administrators do; its groups are modules of their own."""

import typer

from cli import admin_audit, admin_config, admin_roles, admin_users

app = typer.Typer(no_args_is_help=True, help="Accounts, roles, settings and the audit log.")
app.add_typer(admin_users.app, name="users")
app.add_typer(admin_roles.app, name="roles")
app.add_typer(admin_config.app, name="config")
app.command()(admin_audit.audit)
