"""``agentex backup list``: the backups of a folder."""

from pydantic import JsonValue

from cli.command import JsonOption, LanguageOption, Options
from cli.commands.backup.frame import FolderArgument, PassphraseFileOption, mebibytes, passphrase_to_read, run_here
from cli.errors import ExitCode
from cli.ui.i18n import backup as messages
from cli.ui.output import Output
from core.settings import Settings
from kb_service.backup.overview import BackupSummary, list_backups
from kb_service.backup.repository import open_repository


def list_all(
    folder: FolderArgument,
    passphrase_file: PassphraseFileOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """List the backups of a folder, the newest first: when, how much, and how the last check ended."""

    def work(output: Output, settings: Settings) -> ExitCode:
        repository = open_repository(folder, passphrase_to_read(output, settings, folder, passphrase_file))
        summaries = list_backups(repository)
        output.emit(
            {
                "folder": str(repository.root),
                "encrypted": repository.is_encrypted,
                "items": [_facts(summary) for summary in summaries],
            }
        )
        if summaries:
            output.table(messages.LIST_HEADINGS, [_row(output, summary) for summary in summaries])
        else:
            output.say(messages.EMPTY, folder=repository.root)
        return ExitCode.OK

    run_here(Options(json_only, language), None, work)


def _facts(summary: BackupSummary) -> JsonValue:
    manifest, note = summary.manifest, summary.verification
    return {
        "id": summary.id,
        "created_at": summary.created_at.isoformat() if summary.created_at else None,
        "damaged": manifest is None,
        "product": manifest.product if manifest else None,
        "counts": manifest.counts.model_dump() if manifest else None,
        "verified_at": note.checked_at.isoformat() if note else None,
        "findings": note.findings if note else None,
    }


def _row(output: Output, summary: BackupSummary) -> list[str]:
    counts = summary.manifest.counts if summary.manifest else None
    moment = summary.created_at.isoformat(" ", "seconds") if summary.created_at else "-"
    numbers = (
        (str(counts.documents), mebibytes(counts.stored_bytes), mebibytes(counts.added_bytes))
        if counts
        else ("-", "-", "-")
    )
    return [summary.id, moment, *numbers, _state(output, summary)]


def _state(output: Output, summary: BackupSummary) -> str:
    note = summary.verification
    if summary.manifest is None:
        return output.render(messages.DAMAGED)
    if note is None:
        return output.render(messages.UNCHECKED)
    moment = note.checked_at.isoformat(" ", "minutes")
    message = messages.CHECKED_BAD if note.findings else messages.CHECKED
    return output.render(message, moment=moment, count=note.findings)
