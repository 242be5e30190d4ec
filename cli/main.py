"""The ``agentex`` command; each command module adds one line to the registry below."""

import importlib.metadata
import sys
from typing import Annotated

import typer
from pydantic import ValidationError

from cli import (
    admin,
    chat,
    doctor,
    evaluate,
    ingest,
    kb,
    kb_access,
    kb_share,
    kb_transfer,
    login,
    parts,
    search,
    serve,
    sessions,
    skills,
)

app = typer.Typer(
    name="agentex",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Self-hosted knowledge bases, skills and agents.",
)

# The registry. Keep the modules quick to import: a client command must not load the server.
app.command()(serve.serve)
app.command()(parts.worker)
app.command()(parts.engine)
app.command()(parts.api)
app.command()(parts.migrate)
app.command()(login.login)
app.command()(login.logout)
kb.app.command()(kb_share.share)
kb.app.command()(kb_access.access)
kb.app.command("export")(kb_transfer.export)
kb.app.command("import")(kb_transfer.import_file)
kb.app.command("copy")(kb_transfer.copy)
app.add_typer(kb.app, name="kb")
app.command()(ingest.ingest)
app.command()(search.search)
app.command("eval")(evaluate.evaluate)
app.command()(chat.chat)
app.add_typer(admin.app, name="admin")
app.add_typer(sessions.app, name="sessions")
app.add_typer(skills.app, name="skill")
app.command()(doctor.doctor)


def main() -> None:
    """Run the command line; settings that can't be used are named without their values."""
    try:
        app()
    except ValidationError as error:
        for problem in error.errors(include_url=False, include_input=False):
            field = "_".join(str(part) for part in problem["loc"]).upper()
            typer.echo(f"AGENTEX_{field}: {problem['msg']}", err=True)
        sys.exit(2)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(importlib.metadata.version("agentex"))
        raise typer.Exit


@app.callback()
def _global_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Version.")
    ] = False,
) -> None:
    pass


if __name__ == "__main__":
    main()
