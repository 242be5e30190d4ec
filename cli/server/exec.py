"""Commands that run a module of Agentex in this Python."""

import os
import sys
from pathlib import Path
from typing import NoReturn

_ROOT = Path(__file__).resolve().parents[2]


def module_command(module: str) -> tuple[str, ...]:
    """The command that runs a module of Agentex.

    Python puts the working folder first on its path; ``-P`` prevents that, so that a folder named
    ``api`` or ``core`` in the user's working folder is not imported instead.
    """
    safe_path = () if Path.cwd() == _ROOT else ("-P",)
    return (sys.executable, "-u", *safe_path, "-m", module)


def become(module: str, *arguments: str) -> NoReturn:
    """Replace this process by a module, which then owns the signals and the exit code."""
    command = [*module_command(module), *arguments]
    os.execv(command[0], command)  # noqa: S606
