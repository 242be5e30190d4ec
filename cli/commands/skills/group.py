"""The group that all ``agentex skill`` commands belong to."""

import typer

app = typer.Typer(no_args_is_help=True, help="Write, check, compare and share SKILL files.")
