"""The frame of the backup commands: options, progress, failures, passphrases."""

import logging
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from cli.command import Options, leave, open_output
from cli.errors import CommandFailed, ExitCode, ServerRefused
from cli.ui.i18n import backup as messages
from cli.ui.i18n.common import Language
from cli.ui.output import Output
from cli.ui.prompts import ask_password, usage_error
from core.errors.base import AgentexError
from core.errors.conflicts import Conflict
from core.logging import configure_logging
from core.settings import Settings, get_settings, override_settings
from kb_service.backup.errors import BackupError, BackupFault
from kb_service.backup.progress import BackupStep, OnProgress
from kb_service.backup.repository import is_repository, needs_passphrase, require_long_passphrase

FolderArgument = Annotated[Path, typer.Argument(help="Folder of the backups.", metavar="FOLDER")]
DataDirOption = Annotated[Path | None, typer.Option("--data-dir", help="Data folder; by default AGENTEX_DATA_DIR.")]
BackupOption = Annotated[str | None, typer.Option("--backup", help="A backup's id; by default the newest one's.")]
PassphraseFileOption = Annotated[
    Path | None,
    typer.Option("--passphrase-file", help="File whose first line is the passphrase (or AGENTEX_BACKUP_PASSPHRASE)."),
]
_MIB = 2**20


def mebibytes(size: int | None) -> str:
    """A size for people; a dash for one that is not known."""
    return "-" if size is None else f"{size / _MIB:.1f}"


def run_here(options: Options, data_dir: Path | None, work: Callable[[Output, Settings], ExitCode]) -> NoReturn:
    """Run a command on this machine's settings and exit with its code."""
    output = open_output(options)

    def guarded() -> ExitCode:
        settings = override_settings(data_dir=data_dir.expanduser().resolve()) if data_dir else get_settings()
        configure_logging(settings, part="backup")
        # It says how it loads itself.
        logging.getLogger("alembic").setLevel(logging.WARNING)
        # A service manager's stop is like Ctrl-C.
        signal.signal(signal.SIGTERM, _interrupt)
        try:
            return work(output, settings)
        except BackupError as error:
            raise CommandFailed(Conflict(), messages.FAULTS[error.fault], **error.facts) from error
        except AgentexError as error:
            text = error.message_zh if output.language is Language.ZH else error.message
            raise ServerRefused(
                error.code, text, {name: str(value) for name, value in error.details.items()}
            ) from error

    leave(output, guarded)


def _interrupt(_number: int, _frame: object) -> None:
    # A shell's background job ignores Ctrl-C, but not a stop.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        raise KeyboardInterrupt
    signal.raise_signal(signal.SIGINT)


@contextmanager
def progress_on(output: Output) -> Generator[OnProgress]:
    """A bar for each step, on a terminal only."""
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn())
    with Progress(*columns, console=output.remarks, transient=True, disable=not output.lively) as progress:
        tasks: dict[BackupStep, TaskID] = {}

        def report(step: BackupStep, done: int, total: int | None) -> None:
            if step not in tasks:
                tasks[step] = progress.add_task(output.render(messages.STEPS[step]), total=total)
            progress.update(tasks[step], completed=done, total=total)

        yield report


def passphrase_to_read(output: Output, settings: Settings, folder: Path, file: Path | None) -> str | None:
    """The passphrase of existing backups, asked for where nothing gives it; None if they are not encrypted."""
    if not needs_passphrase(folder):
        return None
    return _preset_passphrase(settings, file) or _ask(output)


def passphrase_to_write(
    output: Output, settings: Settings, folder: Path, file: Path | None, *, encrypts: bool
) -> str | None:
    """The passphrase for a new backup, None for none; a new folder's must have some length."""
    preset = _preset_passphrase(settings, file)
    if is_repository(folder):
        return preset or (_ask(output) if encrypts or needs_passphrase(folder) else None)
    if preset is None and not encrypts:
        return None
    passphrase = preset or _ask(output)
    require_long_passphrase(passphrase)
    if preset is None and passphrase != ask_password(output, messages.ASK_AGAIN):
        raise usage_error("passphrase", messages.PASSPHRASES_DIFFER)
    return passphrase


def _ask(output: Output) -> str:
    otherwise = messages.FAULTS[BackupFault.PASSPHRASE_MISSING]
    return ask_password(output, messages.ASK_PASSPHRASE, otherwise)


def _preset_passphrase(settings: Settings, file: Path | None) -> str | None:
    if file is None:
        return settings.backup_passphrase.get_secret_value() if settings.backup_passphrase else None
    try:
        with file.expanduser().open(encoding="utf-8") as lines:
            passphrase = lines.readline().rstrip("\r\n")
    except (OSError, UnicodeDecodeError):
        passphrase = ""
    if not passphrase:
        raise CommandFailed(Conflict(), messages.PASSPHRASE_FILE, path=file)
    return passphrase
