"""Selection of a run's model among those that a person may use."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.llm.base import ChatModel
from agents.llm.extractive.model import ExtractiveModel
from agents.llm_registry.client_cache import ModelClientCache, UnavailableModel
from agents.llm_registry.models import LONGEST_MODEL_ID, RegisteredModel
from core.auth.authentication import principal_for_user
from core.auth.permissions import Permission
from core.auth.principal import Principal, may_use_model
from core.auth.users import get_user
from core.db.types import is_id
from core.errors.auth import ModelNotFound

DEFAULT_MODEL_ID = "default"
"""Names whichever model is the default for who asks."""
CONFIGURED_ID = "00000000-0000-4000-8000-000000000001"
EXTRACTIVE_ID = "00000000-0000-4000-8000-000000000002"
_OWN = ("", CONFIGURED_ID, EXTRACTIVE_ID)


@dataclass(frozen=True)
class ModelRef:
    """A run's model: its listed id (empty for runs from before the registry), and its name at the endpoint."""

    id: str
    name: str


@dataclass(frozen=True)
class SelectedModel:
    """A model client with its listed id."""

    id: str
    model: ChatModel

    @property
    def ref(self) -> ModelRef:
        return ModelRef(self.id, self.model.name[:LONGEST_MODEL_ID])


@dataclass(frozen=True)
class UsableModels:
    """The models that a person may use; the default answers if none is named."""

    built_in: Sequence[SelectedModel]
    registered: Sequence[RegisteredModel]
    default_id: str


class ModelSelector:
    """The models of an installation: its own, and those of its registry."""

    def __init__(self, configured: ChatModel, clients: ModelClientCache) -> None:
        self.clients = clients
        offline = SelectedModel(EXTRACTIVE_ID, ExtractiveModel())
        is_offline = configured.is_extractive
        self._own = SelectedModel(EXTRACTIVE_ID if is_offline else CONFIGURED_ID, configured)
        self.built_in = (self._own,) if is_offline else (self._own, offline)

    def find_built_in(self, name: str) -> SelectedModel | None:
        return next((model for model in self.built_in if name in (model.id, model.model.name)), None)

    async def select(self, session: AsyncSession, principal: Principal, name: str | None) -> SelectedModel:
        """The model of this id or built-in name; the default model for none or ``default``."""
        if not name or name == DEFAULT_MODEL_ID:
            return await self._default(session, principal)
        if (own := self.find_built_in(name)) is not None:
            if not may_use_built_in(principal, own.id):
                raise ModelNotFound
            return own
        return self._opened(await find_usable(session, principal, name))

    async def reopen(self, session: AsyncSession, owner_id: str, before: ModelRef) -> SelectedModel:
        """The model of an earlier run, if its owner may still use it, else one whose calls fail."""
        is_own = before.id in _OWN
        # What the settings say now, if they say something else by now.
        own = self.find_built_in(before.id) or self._own
        owner = await principal_for_user(session, owner_id)
        try:
            return await self.select(session, owner, own.id if is_own else before.id)
        except ModelNotFound:
            return SelectedModel(before.id, UnavailableModel(before.name))

    async def list_usable(self, session: AsyncSession, principal: Principal) -> UsableModels:
        query = select(RegisteredModel).where(col(RegisteredModel.enabled).is_(True)).order_by(RegisteredModel.name)
        enabled = (await session.exec(query)).all()
        rows = [row for row in enabled if await may_use(session, principal, row)]
        own = [model for model in self.built_in if may_use_built_in(principal, model.id)]
        default = next((row.id for row in rows if row.is_default), own[0].id)
        if own[0] is not self._own and rows and default == own[0].id:
            default = rows[0].id
        return UsableModels(own, rows, default)

    async def _default(self, session: AsyncSession, principal: Principal) -> SelectedModel:
        if not may_use_built_in(principal, self._own.id):
            usable = await self.list_usable(session, principal)
            return await self.select(session, principal, usable.default_id)
        query = select(RegisteredModel).where(
            col(RegisteredModel.is_default).is_(True), col(RegisteredModel.enabled).is_(True)
        )
        row = (await session.exec(query)).first()
        if row is None or not await may_use(session, principal, row):
            return self._own
        return self._opened(row)

    def _opened(self, row: RegisteredModel) -> SelectedModel:
        return SelectedModel(row.id, self.clients.open(row))


async def find_usable(session: AsyncSession, principal: Principal, model_id: str) -> RegisteredModel:
    """A registered model that the caller may use."""
    row = await session.get(RegisteredModel, model_id) if is_id(model_id) else None
    if row is None or not row.enabled or not await may_use(session, principal, row):
        raise ModelNotFound
    return row


async def may_use(session: AsyncSession, principal: Principal, row: RegisteredModel) -> bool:
    """Whether the account's own list allows the model, else the model's lists."""
    is_open = principal.model_access is not None or await _is_open(session, principal, row)
    return may_use_model(principal, row.id, is_open=is_open)


def may_use_built_in(principal: Principal, model_id: str) -> bool:
    """Whether an account may use a built-in model; the offline model is for everybody."""
    return model_id == EXTRACTIVE_ID or may_use_model(principal, model_id, is_open=True)


async def _is_open(session: AsyncSession, principal: Principal, row: RegisteredModel) -> bool:
    if row.role_access is None and row.user_access is None:
        return True
    if Permission.MODELS_MANAGE in principal.permissions:
        return True
    if principal.user_id in (row.user_access or ()):
        return True
    if not row.role_access:
        return False
    return (await get_user(session, principal.user_id)).role_id in row.role_access
