"""Model registry for administrators (docs/reference/agentex-api.md, section 6)."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from pydantic import JsonValue
from sqlalchemy import update as update_rows
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.llm.base import ChatModel
from agents.llm.providers import CUSTOM_NAME, PROVIDERS
from agents.llm_registry.client_cache import ModelClientCache, resolve_base_url
from agents.llm_registry.models import RegisteredModel
from core.audit.log import AuditAction, AuditTarget, audit
from core.auth.models import Role, User
from core.auth.permissions import ADMIN_ROLE
from core.db.database import Database
from core.db.types import is_id, utc_now
from core.db.unit_of_work import UnitOfWork, unit_of_work
from core.errors.auth import ModelNotFound
from core.errors.conflicts import ModelNameTaken
from core.errors.requests import InvalidRequest, UrlNotAllowed
from core.outbound.guard import OutboundGuard, read_url

KNOWN_PROVIDERS = (*PROVIDERS, CUSTOM_NAME)


@dataclass(frozen=True)
class ModelDraft:
    """Fields of a model to register, named as in ``RegisteredModel``."""

    name: str
    model_id: str
    provider: str = CUSTOM_NAME
    base_url: str = ""
    max_tokens: int | None = None
    temperature: float | None = None
    options: dict[str, JsonValue] | None = None
    input_price: float | None = None
    output_price: float | None = None
    is_default: bool = False
    enabled: bool = True
    role_access: list[str] | None = None
    user_access: list[str] | None = None


_FIELDS = tuple(field.name for field in fields(ModelDraft))


def to_draft(row: RegisteredModel) -> ModelDraft:
    """The current fields of a registered model."""
    return ModelDraft(**{name: getattr(row, name) for name in _FIELDS})


class ModelRegistry:
    """Creates, changes and deletes registered models."""

    def __init__(self, database: Database, clients: ModelClientCache, guard: OutboundGuard) -> None:
        self._database = database
        self._clients = clients
        self._guard = guard

    async def create(self, draft: ModelDraft, api_key: str) -> RegisteredModel:
        await self._check(draft)
        async with unit_of_work(self._database) as work:
            await _lock_registry(work.session)
            row = RegisteredModel(name=draft.name, provider=draft.provider, model_id=draft.model_id)
            await self._write(work, row, draft, api_key)
            _audit(work, AuditAction.MODEL_REGISTERED, row)
        return row

    async def update(self, model_id: str, changes: dict[str, object], api_key: str | None) -> RegisteredModel:
        """Change a model by the names of ``ModelDraft``; an empty ``api_key`` removes the key, None keeps it."""
        async with self._database.reading() as session:
            before = to_draft(await get(session, model_id))
        # Which addresses a name has is asked for outside of the transaction: it may take long.
        await self._check(_changed(before, changes))
        async with unit_of_work(self._database) as work:
            await _lock_registry(work.session)
            row = await get(work.session, model_id, for_update=True)
            draft = _changed(to_draft(row), changes)
            if api_key is None and row.sealed_api_key:
                _require_same_origin(draft, to_draft(row))
            await self._write(work, row, draft, api_key)
            changed_fields = {*changes, *(() if api_key is None else ("api_key",))}
            # Their names alone: the values are long, and one of them is a secret.
            names: list[JsonValue] = [*sorted(changed_fields)]
            _audit(work, AuditAction.MODEL_CHANGED, row, fields=names)
        return row

    async def delete(self, model_id: str) -> None:
        async with unit_of_work(self._database) as work:
            row = await get(work.session, model_id, for_update=True)
            _audit(work, AuditAction.MODEL_REMOVED, row)
            await work.session.delete(row)

    async def open_draft(self, draft: ModelDraft, api_key: str | None, registered_id: str | None) -> ChatModel:
        """A client for a model that is not stored, such as the edits of the registered one.

        None for ``api_key`` takes the registered one's key, if the address is the one that it was given for.
        """
        await self._check(draft)
        row = RegisteredModel(name=draft.name, provider=draft.provider, model_id=draft.model_id)
        sealed = None
        if registered_id is not None:
            async with self._database.reading() as session:
                before = await get(session, registered_id)
            if api_key is None and before.sealed_api_key:
                _require_same_origin(draft, to_draft(before))
                sealed = before.sealed_api_key
        _fill(row, draft)
        row.sealed_api_key = self._clients.seal(api_key) if api_key else sealed
        return self._clients.open_draft(row)

    async def _check(self, draft: ModelDraft) -> None:
        if draft.provider not in KNOWN_PROVIDERS:
            raise InvalidRequest("provider", f"Use one of {', '.join(KNOWN_PROVIDERS)}")
        base_url = resolve_base_url(draft.provider, draft.base_url)
        if not base_url:
            raise InvalidRequest("base_url", f"The provider {draft.provider} has none of its own")
        if draft.is_default and not draft.enabled:
            raise InvalidRequest("is_default", "A model that is switched off can't be the default")
        if "?" in base_url or "#" in base_url:
            raise InvalidRequest("base_url", "Leave out the query and the fragment")
        try:
            await self._guard.check(base_url)
        except UrlNotAllowed as refused:
            refused.details["field"] = "base_url"
            raise

    async def _write(self, work: UnitOfWork, row: RegisteredModel, draft: ModelDraft, api_key: str | None) -> None:
        await _require_free_name(work.session, draft.name, row.id)
        await _check_access(work.session, draft, row)
        if draft.is_default:
            others = update_rows(RegisteredModel).where(
                col(RegisteredModel.is_default).is_(True), col(RegisteredModel.id) != row.id
            )
            # Its revision stays: nothing that an adapter is made of changes.
            await work.session.exec(others.values(is_default=False))
        _fill(row, draft)
        if api_key is not None:
            row.sealed_api_key = self._clients.seal(api_key) if api_key else None
        row.revision += 1
        row.updated_at = utc_now()
        work.session.add(row)
        await work.session.flush()


async def list_all(session: AsyncSession) -> Sequence[RegisteredModel]:
    """Every registered model, by name."""
    return (await session.exec(select(RegisteredModel).order_by(RegisteredModel.name))).all()


async def get(session: AsyncSession, model_id: str, *, for_update: bool = False) -> RegisteredModel:
    """A registered model, whoever may use it."""
    row = None
    if is_id(model_id):
        row = await session.get(RegisteredModel, model_id, with_for_update=for_update or None)
    if row is None:
        raise ModelNotFound
    return row


async def _lock_registry(session: AsyncSession) -> None:
    """Serialise changes of the registry: concurrent ones could duplicate a name or the default."""
    turn = select(Role.id).where(Role.name == ADMIN_ROLE).with_for_update(key_share=True)
    await session.exec(turn)


def _audit(work: UnitOfWork, action: AuditAction, row: RegisteredModel, **details: JsonValue) -> None:
    audit(work.session, action, AuditTarget("model", row.id, row.name), details=details)


def _changed(draft: ModelDraft, changes: dict[str, object]) -> ModelDraft:
    changed = replace(draft, **changes)  # pyright: ignore[reportArgumentType] # fields that were checked at the rim
    if not changed.enabled and "is_default" not in changes:
        # What is switched off answers nobody, by default neither.
        changed = replace(changed, is_default=False)
    return changed


def _fill(row: RegisteredModel, draft: ModelDraft) -> None:
    for name in _FIELDS:
        setattr(row, name, getattr(draft, name))
    row.options = draft.options or {}


def _require_same_origin(draft: ModelDraft, before: ModelDraft) -> None:
    """Else whoever may change a model could have its key sent to them."""
    if _origin(draft) != _origin(before):
        raise InvalidRequest(
            "api_key",
            "The address is another one: give the key for it, or null for none",
            "地址已改变：请填写新地址的密钥，或用 null 表示没有",
        )


def _origin(draft: ModelDraft) -> tuple[str, str, int]:
    base_url = resolve_base_url(draft.provider, draft.base_url)
    target = read_url(base_url)
    return base_url.partition(":")[0], target.host, target.port


async def _check_access(session: AsyncSession, draft: ModelDraft, row: RegisteredModel) -> None:
    # Those that stood there before may be gone by now.
    roles = set(draft.role_access or ()) - set(row.role_access or ())
    users = set(draft.user_access or ()) - set(row.user_access or ())
    existing = set((await session.exec(select(Role.id).where(col(Role.id).in_(roles)))).all())
    if roles - existing:
        raise InvalidRequest("role_access", "There is no such role")
    existing = set((await session.exec(select(User.id).where(col(User.id).in_(users)))).all())
    if users - existing:
        raise InvalidRequest("user_access", "There is no such user")


async def _require_free_name(session: AsyncSession, name: str, own_id: str) -> None:
    same_name = select(RegisteredModel.id).where(RegisteredModel.name == name, RegisteredModel.id != own_id)
    if (await session.exec(same_name)).first() is not None:
        raise ModelNameTaken(field="name")
