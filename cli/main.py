"""The ``agentex`` command and the registry of its commands."""

import importlib.metadata
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated

import typer
from pydantic import ValidationError

# The registry: a command or a group of them, and the module and name where it is.
_COMMANDS = {
    "serve": ("cli.server.commands", "serve"),
    "worker": ("cli.server.commands", "worker"),
    "engine": ("cli.server.commands", "engine"),
    "api": ("cli.server.commands", "api"),
    "migrate": ("cli.server.commands", "migrate"),
    "backup": ("cli.commands.backup", "app"),
    "login": ("cli.commands.login", "login"),
    "logout": ("cli.commands.login", "logout"),
    "kb": ("cli.commands.kb", "app"),
    "ingest": ("cli.commands.ingest.command", "ingest"),
    "search": ("cli.commands.kb.search", "search"),
    "eval": ("cli.commands.kb.evaluate", "evaluate"),
    "chat": ("cli.commands.chat.command", "chat"),
    "admin": ("cli.commands.admin", "app"),
    "sessions": ("cli.commands.sessions", "app"),
    "skill": ("cli.commands.skills", "app"),
    "rule": ("cli.commands.rules", "app"),
    "notifications": ("cli.commands.notifications", "app"),
    "doctor": ("cli.commands.doctor.command", "doctor"),
}


def main() -> None:
    """Run the command line; settings that can't be used are named without their values."""
    try:
        build(_requested(sys.argv[1:2]))()
    except ValidationError as error:
        for problem in error.errors(include_url=False, include_input=False):
            field = "_".join(str(part) for part in problem["loc"]).upper()
            typer.echo(f"AGENTEX_{field}: {problem['msg']}", err=True)
        sys.exit(2)


def build(names: Iterable[str] = tuple(_COMMANDS)) -> typer.Typer:
    """The command line, with all commands or with some."""
    app = typer.Typer(
        name="agentex",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        help="Self-hosted knowledge bases, skills and agents.",
    )
    app.callback()(_global_options)
    for name in names:
        module, attribute = _COMMANDS[name]
        command = getattr(import_module(module), attribute)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def _requested(first: list[str]) -> Iterable[str]:
    """The command named by the first argument: importing all modules would delay it."""
    if first == ["--version"]:
        return ()
    return [name for name in _COMMANDS if [name] == first] or _COMMANDS


def _show_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(importlib.metadata.version("agentex"))
        raise typer.Exit


def _global_options(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Version.")] = False,
) -> None:
    pass


if __name__ == "__main__":
    main()
