"""``agentex backup restore``: a backup into an empty data folder, database, object store and vector index."""

import asyncio
import os
from pathlib import Path

from cli.command import JsonOption, LanguageOption, Options
from cli.commands.backup.frame import (
    BackupOption,
    DataDirOption,
    FolderArgument,
    PassphraseFileOption,
    passphrase_to_read,
    progress_on,
    run_here,
)
from cli.commands.backup.stores import dimensions, points_to_write
from cli.errors import ExitCode
from cli.supervisor.preflight import FolderInUse, create_folders, lock
from cli.ui.i18n import backup as messages
from cli.ui.output import Output
from core.db.database import open_database
from core.durable_files import write_private
from core.security.vault import load_secret_key, secret_key_file
from core.settings import Settings
from kb_service.backup.data_folder import mark_finished, mark_unfinished, require_free_folder, unfinished_restore
from kb_service.backup.encryption import secret_key_mark
from kb_service.backup.errors import BackupError, BackupFault
from kb_service.backup.manifest import BackupManifest
from kb_service.backup.progress import OnProgress
from kb_service.backup.repository import BackupRepository, open_repository
from kb_service.backup.restore import (
    BackupRestorer,
    RestoreTarget,
    require_empty_database,
    require_empty_files,
    require_empty_points,
    require_readable,
)
from kb_service.object_storage.factory import open_object_store
from migrations.level import revisions


def restore(
    folder: FolderArgument,
    backup: BackupOption = None,
    data_dir: DataDirOption = None,
    passphrase_file: PassphraseFileOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Restore a backup into an empty data folder, and into the database, object store and index of the settings.

    Each of them must be empty; the database may be of another kind than the one that was backed up. Run it again if it
    broke off. Exit codes: 0 when all is restored, 1 when not, 130 after Ctrl-C.
    """

    def work(output: Output, settings: Settings) -> ExitCode:
        repository = open_repository(folder, passphrase_to_read(output, settings, folder, passphrase_file))
        manifest = repository.manifest(backup)
        require_readable(manifest, revisions(), dimensions(settings))
        resumes = require_free_folder(settings.data_dir, manifest.id)
        _require_secret_key(settings, manifest)
        create_folders(settings.data_dir)
        descriptor = _lock(settings)
        try:
            with repository.reading(), progress_on(output) as on_progress:
                asyncio.run(_restore(settings, repository, manifest, on_progress, resumes=resumes))
        finally:
            os.close(descriptor)
            if unfinished_restore(settings.data_dir) is not None:
                output.remark(messages.BROKEN_OFF, folder=settings.data_dir)
        _report(output, settings, manifest, data_dir)
        return ExitCode.OK

    run_here(Options(json_only, language), data_dir, work)


def _require_secret_key(settings: Settings, manifest: BackupManifest) -> None:
    """Refuse before anything is written if the restored database could not be opened."""
    file = secret_key_file(settings)
    if settings.secret_key is None and not file.exists():
        if file.name not in manifest.secrets:
            raise BackupError(BackupFault.SECRET_KEY_MISSING, folder=settings.data_dir)
        return
    if secret_key_mark(load_secret_key(settings)) != manifest.secret_key_mark:
        source = file if settings.secret_key is None else "AGENTEX_SECRET_KEY"
        raise BackupError(BackupFault.SECRET_KEY_DIFFERS, source=source)


def _lock(settings: Settings) -> int:
    try:
        return lock(settings.data_dir)
    except FolderInUse as error:
        raise BackupError(BackupFault.DATA_FOLDER_IN_USE, folder=settings.data_dir) from error


async def _restore(
    settings: Settings,
    repository: BackupRepository,
    manifest: BackupManifest,
    on_progress: OnProgress,
    *,
    resumes: bool,
) -> None:
    # Only here: Alembic takes a second, which the other commands need not wait for.
    from migrations.apply import migrate  # noqa: PLC0415

    data = settings.data_dir
    if resumes and settings.database_url is None:
        # Only this restore can have made it: the rows are written in its last step.
        for path in data.glob("agentex.db*"):
            path.unlink()
    database = open_database(settings)
    try:
        await require_empty_database(database)
        async with points_to_write(settings) as points:
            if not resumes:
                await require_empty_points(points)
            # A local store makes its folder, which must not stay behind a refusal.
            files = open_object_store(settings)
            if not resumes:
                await require_empty_files(files)
            mark_unfinished(data, manifest.id)
            _write_secrets(data, repository, manifest)
            target = RestoreTarget(database, files, points, dimensions(settings), revisions(), migrate)
            await BackupRestorer(repository, manifest, target, on_progress).restore()
    finally:
        await database.close()
    mark_finished(data)


def _write_secrets(data_dir: Path, repository: BackupRepository, manifest: BackupManifest) -> None:
    for name, blob in manifest.secrets.items():
        # A name is never a path.
        path = data_dir / Path(name).name
        if not path.exists():
            write_private(path, b"".join(repository.read(blob)))


def _report(output: Output, settings: Settings, manifest: BackupManifest, data_dir: Path | None) -> None:
    counts = manifest.counts.model_dump()
    output.emit({"id": manifest.id, "data_dir": str(settings.data_dir), **counts})
    option = f" --data-dir {settings.data_dir}" if data_dir else ""
    moment = manifest.created_at.isoformat(timespec="seconds")
    output.say(messages.RESTORED, id=manifest.id, moment=moment, data_dir=option, **counts)
