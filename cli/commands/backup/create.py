"""``agentex backup create``: a consistent backup of a running or stopped installation."""

import asyncio
import importlib.metadata
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy.engine import make_url

from cli.command import JsonOption, LanguageOption, Options
from cli.commands.backup.frame import (
    DataDirOption,
    FolderArgument,
    PassphraseFileOption,
    mebibytes,
    passphrase_to_write,
    progress_on,
    run_here,
)
from cli.commands.backup.stores import points_to_read
from cli.errors import ExitCode
from cli.ui.i18n import backup as messages
from cli.ui.output import Output
from core.db.database import Database, open_database
from core.security.vault import load_secret_key, secret_key_file
from core.settings import Settings
from kb_service.backup.create import BackupCreator, BackupSource
from kb_service.backup.data_folder import secret_files
from kb_service.backup.errors import BackupError, BackupFault
from kb_service.backup.manifest import BackupManifest
from kb_service.backup.progress import OnProgress
from kb_service.backup.repository import BackupRepository, create_repository, is_repository, open_repository
from kb_service.object_storage.factory import open_object_store
from migrations.level import file_schema_revision, revisions, schema_revision


def create(
    folder: FolderArgument,
    encrypt: Annotated[bool, typer.Option("--encrypt", help="Encrypt the backups of a new folder.")] = False,
    passphrase_file: PassphraseFileOption = None,
    with_secret_key: Annotated[
        bool, typer.Option("--with-secret-key", help="Put the secret key into a backup that is not encrypted.")
    ] = False,
    data_dir: DataDirOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Back up database, files and vectors while Agentex runs; a folder with earlier backups gets only what is new.

    A backup that is stopped half way is none. Exit codes: 0 when it is whole, 1 when not, 130 after Ctrl-C.
    """

    def work(output: Output, settings: Settings) -> ExitCode:
        _require_installation(settings)
        passphrase = passphrase_to_write(output, settings, folder, passphrase_file, encrypts=encrypt)
        open_ = open_repository if is_repository(folder) else create_repository
        repository = open_(folder, passphrase)
        includes_key = repository.is_encrypted or with_secret_key
        secrets = secret_files(settings.data_dir) if includes_key else dict[str, bytes]()
        try:
            with repository.writing(), progress_on(output) as on_progress:
                manifest = asyncio.run(_create(settings, repository, secrets, on_progress))
        except KeyboardInterrupt:
            output.remark(messages.CANCELLED)
            raise
        _report(output, settings, repository, manifest)
        return ExitCode.OK

    run_here(Options(json_only, language), data_dir, work)


def _require_installation(settings: Settings) -> None:
    """Refuse a database that is not there: opening it would make one."""
    file = _sqlite_file(settings)
    if file is not None and not file.is_file():
        raise BackupError(BackupFault.NO_INSTALLATION, path=file)


def _sqlite_file(settings: Settings) -> Path | None:
    url = make_url(settings.effective_database_url)
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


async def _create(
    settings: Settings, repository: BackupRepository, secrets: Mapping[str, bytes], on_progress: OnProgress
) -> BackupManifest:
    # Only here: every table's module takes a second, which the other commands need not wait for.
    from migrations.tables import all_tables  # noqa: PLC0415

    database = open_database(settings)
    try:
        await _require_schema(settings, database)
        async with points_to_read(settings) as points:
            source = BackupSource(
                database=database,
                files=open_object_store(settings),
                points=points,
                tables=all_tables(),
                schema_revision=revisions()[-1],
                product=importlib.metadata.version("agentex"),
                secret_key=load_secret_key(settings),
                secret_files=secrets,
            )
            return await BackupCreator(source, repository, on_progress).create()
    finally:
        await database.close()


async def _require_schema(settings: Settings, database: Database) -> None:
    file = _sqlite_file(settings)
    actual = file_schema_revision(file) if file is not None else await schema_revision(database)
    expected = revisions()[-1]
    if actual != expected:
        raise BackupError(BackupFault.SCHEMA_DIFFERS, actual=actual or "-", expected=expected)


def _report(output: Output, settings: Settings, repository: BackupRepository, manifest: BackupManifest) -> None:
    counts = manifest.counts.model_dump()
    holds_key = secret_key_file(settings).name in manifest.secrets
    output.emit(
        {
            "id": manifest.id,
            "folder": str(repository.root),
            "encrypted": repository.is_encrypted,
            "holds_secret_key": holds_key,
            "unindexed": list(manifest.unindexed),
            "unserved": list(manifest.unserved),
            **counts,
        }
    )
    added = mebibytes(counts.pop("added_bytes"))
    output.say(messages.CREATED, id=manifest.id, added=added, folder=repository.root, **counts)
    if manifest.unindexed:
        output.say(messages.UNINDEXED, count=len(manifest.unindexed))
    if manifest.unserved:
        output.say(messages.UNSERVED, count=len(manifest.unserved))
    if not repository.is_encrypted:
        output.say(messages.NOT_ENCRYPTED_NOTE, folder=repository.root)
    if settings.secret_key is not None:
        output.say(messages.KEY_IN_SETTING)
    elif holds_key:
        with_passphrase = output.render(messages.WITH_PASSPHRASE) if repository.is_encrypted else ""
        output.say(messages.KEY_INSIDE, passphrase=with_passphrase)
    else:
        output.say(messages.KEY_OUTSIDE, file=secret_key_file(settings))
