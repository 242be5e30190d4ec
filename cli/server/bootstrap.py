"""Initial content of a data folder: tables, roles, keys, administrator, samples."""

import asyncio
import os
import secrets
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

from sqlmodel import select
from sqlmodel.ext.asyncio.session import AsyncSession

from cli.ui.i18n.supervisor import restore_unfinished
from core.auth.models import User
from core.auth.permissions import ADMIN_ROLE, Permission
from core.auth.principal import Principal
from core.auth.signing_keys import PURPOSE, SigningKeys, ensure_signing_key
from core.auth.users import create_user, draft_user, ensure_roles, get_role_by_name
from core.db.database import open_database
from core.db.unit_of_work import unit_of_work
from core.errors.base import AgentexError
from core.logging import configure_logging, get_logger
from core.security.vault import SecretKeyMismatchError, Vault, load_secret_key
from core.settings import Settings, get_settings
from kb_service.backup.data_folder import unfinished_restore
from migrations.apply import lock_migrations, migrate

log = get_logger(__name__)

PASSWORD_FILE = "initial-admin-password"  # noqa: S105 - a file's name
_PASSWORD_BYTES = 12


def main() -> None:
    """Prepare the data folder and the database; on failure exit with code 1 and a plain message."""
    settings = get_settings()
    configure_logging(settings, part="database")
    if (backup := unfinished_restore(settings.data_dir)) is not None:
        sys.exit(restore_unfinished(settings.data_dir, backup))
    try:
        asyncio.run(prepare(settings))
    except AgentexError as error:
        facts = "; ".join(f"{name}: {value}" for name, value in error.details.items())
        sys.exit(f"{error.message} ({facts})" if facts else error.message)
    except SecretKeyMismatchError:
        sys.exit(
            "The database was made with another secret key. Set AGENTEX_SECRET_KEY to that key, "
            "or put its file back into the data folder.\n"
            "数据库使用了另一个密钥，请恢复原来的 AGENTEX_SECRET_KEY 或数据目录中的密钥文件。"
        )


async def prepare(settings: Settings) -> None:
    """Migrate the database and, on the first start, add the initial content."""
    database = open_database(settings)
    try:
        await migrate(database)
        vault = Vault(load_secret_key(settings), PURPOSE)
        # All or nothing: an interrupted first start is repeated.
        async with unit_of_work(database) as work:
            await lock_migrations(await work.session.connection())
            admin = await _prepare_accounts(work.session, settings, vault)
            if admin is not None:
                for module in _shipped(settings):
                    await module.add(work, settings, admin)
        async with database.reading() as session:
            await SigningKeys(vault).issuer(session)
    finally:
        await database.close()


def _shipped(settings: Settings) -> Iterator[ModuleType]:
    """Modules with sample content for a first start, each with an ``add`` function.

    Imported by name: later starts need nothing of documents and skills.
    """
    if settings.documentation_enabled:
        yield import_module("cli.server.sample_documents")
    if settings.starter_skills_enabled:
        yield import_module("cli.server.sample_skills")


async def _prepare_accounts(session: AsyncSession, settings: Settings, vault: Vault) -> Principal | None:
    """Create what is missing; returns the administrator's principal on the first start."""
    await ensure_roles(session)
    await ensure_signing_key(session, vault)
    if (await session.exec(select(User.id).limit(1))).first() is not None:
        return None
    password = (
        settings.admin_password.get_secret_value()
        if settings.admin_password is not None
        else _generate_password(settings.data_dir)
    )
    draft = await draft_user(username=settings.admin_username, email=settings.admin_email, password=password)
    admin = await create_user(session, draft, role=ADMIN_ROLE, email_verified=True)
    role = await get_role_by_name(session, ADMIN_ROLE)
    log.info("bootstrap.administrator_created", username=admin.username)
    permissions = frozenset(Permission(name) for name in role.permissions)
    return Principal(admin.id, admin.username, role.name, permissions)


def _generate_password(data_dir: Path) -> str:
    """Generate a password and write it where only the operator can read it."""
    # The ending has a letter and a digit whatever the random part is.
    password = secrets.token_urlsafe(_PASSWORD_BYTES) + "a7"
    path = data_dir / PASSWORD_FILE
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(password + "\n")
        file.flush()
        os.fsync(file.fileno())
    return password
