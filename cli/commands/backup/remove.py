"""``agentex backup remove`` and ``prune``: single backups away from a folder, and the blobs that only they hold."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated

import typer

from cli.command import JsonOption, LanguageOption, Options
from cli.commands.backup.frame import (
    FolderArgument,
    PassphraseFileOption,
    mebibytes,
    passphrase_to_read,
    progress_on,
    run_here,
)
from cli.errors import ExitCode
from cli.ui.i18n import backup as messages
from cli.ui.output import Output
from cli.ui.prompts import YesOption, confirm, usage_error
from core.settings import Settings
from kb_service.backup import removal
from kb_service.backup.repository import open_repository
from kb_service.backup.retention import RetentionPolicy, expired

_Choice = Callable[[list[str]], Collection[str]]


def remove(
    folder: FolderArgument,
    backups: Annotated[list[str], typer.Argument(help="Ids of backups.", metavar="BACKUP...")],
    yes: YesOption = False,
    passphrase_file: PassphraseFileOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Remove backups; the others stay whole. May be stopped and repeated.

    Exit codes: 0 when they are gone, 1 when not, 130 after Ctrl-C.
    """

    def work(output: Output, settings: Settings) -> ExitCode:
        if not confirm(output, yes, messages.CONFIRM_REMOVAL, backups=", ".join(backups)):
            return ExitCode.FAILED
        return _remove(output, settings, folder, passphrase_file, lambda _: backups)

    run_here(Options(json_only, language), None, work)


def prune(
    folder: FolderArgument,
    keep: Annotated[int, typer.Option("--keep", min=0, help="Keep the newest N backups.", metavar="N")] = 0,
    keep_daily: Annotated[
        int, typer.Option("--keep-daily", min=0, help="Keep the newest backup of each of the last N days.", metavar="N")
    ] = 0,
    keep_weekly: Annotated[
        int,
        typer.Option("--keep-weekly", min=0, help="Keep the newest backup of each of the last N weeks.", metavar="N"),
    ] = 0,
    passphrase_file: PassphraseFileOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Remove all backups but those that an option keeps; days and weeks without backups are not counted.

    Also clears away what a removal that was stopped left. Exit codes: 0 when done, 1 when not, 130 after Ctrl-C.
    """

    def work(output: Output, settings: Settings) -> ExitCode:
        if not max(keep, keep_daily, keep_weekly):
            raise usage_error("keep", messages.NOTHING_KEPT)
        policy = RetentionPolicy(keep, keep_daily, keep_weekly)
        return _remove(output, settings, folder, passphrase_file, lambda ids: expired(ids, policy))

    run_here(Options(json_only, language), None, work)


def _remove(
    output: Output, settings: Settings, folder: Path, passphrase_file: Path | None, choose: _Choice
) -> ExitCode:
    repository = open_repository(folder, passphrase_to_read(output, settings, folder, passphrase_file))
    with progress_on(output) as on_progress:
        report = removal.remove(repository, choose, on_progress)
    remaining = len(repository.backup_ids())
    output.emit(
        {
            "removed": list(report.backups),
            "remaining": remaining,
            "blobs": report.blobs,
            "freed_bytes": report.freed_bytes,
        }
    )
    freed = mebibytes(report.freed_bytes)
    output.say(messages.REMOVED, count=len(report.backups), remaining=remaining, freed=freed)
    return ExitCode.OK
