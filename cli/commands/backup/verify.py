"""``agentex backup verify``: whether backups can be restored."""

from cli.command import JsonOption, LanguageOption, Options
from cli.commands.backup.frame import (
    BackupOption,
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
from core.settings import Settings
from kb_service.backup import verify as backup_check
from kb_service.backup.errors import BackupError, BackupFault
from kb_service.backup.repository import open_repository
from kb_service.backup.verify import BackupReport


def verify(
    folder: FolderArgument,
    backup: BackupOption = None,
    passphrase_file: PassphraseFileOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Read all backups of a folder, or one, and say what is missing or damaged.

    Exit codes: 0 when all is well, 1 when something is wrong.
    """

    def work(output: Output, settings: Settings) -> ExitCode:
        repository = open_repository(folder, passphrase_to_read(output, settings, folder, passphrase_file))
        ids = repository.backup_ids()
        if not ids:
            raise BackupError(BackupFault.NO_BACKUP, folder=folder)
        if backup is not None and backup not in ids:
            raise BackupError(BackupFault.UNKNOWN_BACKUP, backup=backup, backups=", ".join(ids))
        with progress_on(output) as on_progress:
            report = backup_check.verify(repository, [backup] if backup else ids, on_progress)
        _show(output, report)
        return ExitCode.FAILED if report.findings else ExitCode.OK

    run_here(Options(json_only, language), None, work)


def _show(output: Output, report: BackupReport) -> None:
    problems = [
        output.render(messages.FAULTS[finding.error.fault], **finding.error.facts) for finding in report.findings
    ]
    output.emit(
        {
            "ok": not report.findings,
            "backups": report.backups,
            "blobs": report.blobs,
            "bytes": report.size,
            "findings": [
                {"backup": finding.backup, "part": finding.part, "fault": finding.error.fault.value, "problem": problem}
                for finding, problem in zip(report.findings, problems, strict=True)
            ],
        }
    )
    for finding, problem in zip(report.findings, problems, strict=True):
        output.say(messages.FINDING, backup=finding.backup, part=finding.part, problem=problem)
    if report.findings:
        output.say(messages.BAD_BACKUPS, count=len(report.findings))
    else:
        output.say(messages.VERIFIED, backups=report.backups, blobs=report.blobs, size=mebibytes(report.size))
