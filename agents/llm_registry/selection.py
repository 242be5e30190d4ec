"""Which models somebody may use, and which one answers a run of theirs."""

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
    """A model as a run's row names it.

    Args:
        id: by which it was listed; empty for a run of the time when there was one model only.
    """

    id: str
    name: str


@dataclass(frozen=True)
class SelectedModel:
    """A model that answers, with the id by which it is listed."""

    id: str
    model: ChatModel

    @property
    def ref(self) -> ModelRef:
        """As a run's row names it."""
        return ModelRef(self.id, self.model.name[:LONGEST_MODEL_ID])


@dataclass(frozen=True)
class UsableModels:
    """What somebody may use.

    Args:
        registered: those of the registry, by name.
        default_id: of the one that answers where none is named.
    """

    built_in: Sequence[SelectedModel]
    registered: Sequence[RegisteredModel]
    default_id: str


class ModelSelector:
    """The models of an installation: its own, and those of its registry.

    Args:
        configured: the settings' model, or the offline one.
    """

    def __init__(self, configured: ChatModel, adapters: ModelClientCache) -> None:
        self.clients = adapters
        offline = SelectedModel(EXTRACTIVE_ID, ExtractiveModel())
        is_offline = configured.is_extractive
        self._own = SelectedModel(EXTRACTIVE_ID if is_offline else CONFIGURED_ID, configured)
        self.built_in = (self._own,) if is_offline else (self._own, offline)

    def find_built_in(self, asked: str) -> SelectedModel | None:
        """The installation's own model of an id or a name at its endpoint, if there is one."""
        return next((one for one in self.built_in if asked in (one.id, one.model.name)), None)

    async def select(
        self, session: AsyncSession, principal: Principal, asked: str | None
    ) -> SelectedModel:
        """The model that somebody names, else their default.

        Args:
            asked: an id, the name of the settings' model, ``default``, or nothing.

        Raises:
            ModelNotFound: there is none, it is switched off, or it is not for the caller: the
                three look the same.
        """
        if not asked or asked == DEFAULT_MODEL_ID:
            return await self._default(session, principal)
        if (own := self.find_built_in(asked)) is not None:
            if not may_use_built_in(principal, own.id):
                raise ModelNotFound
            return own
        return self._opened(await find_usable(session, principal, asked))

    async def reopen(self, session: AsyncSession, owner_id: str, before: ModelRef) -> SelectedModel:
        """The model of a run that began before, if its owner may still use it.

        Args:
            before: the model that answered then.

        Returns:
            One whose calls fail where it is there no more: another one was not asked for.

        Raises:
            AccountDisabled, InvalidToken: the owner is switched off or gone.
        """
        is_own = before.id in _OWN
        # What the settings say now, if they say something else by now.
        own = self.find_built_in(before.id) or self._own
        owner = await principal_for_user(session, owner_id)
        try:
            return await self.select(session, owner, own.id if is_own else before.id)
        except ModelNotFound:
            return SelectedModel(before.id, UnavailableModel(before.name))

    async def list_usable(self, session: AsyncSession, principal: Principal) -> UsableModels:
        """All that the caller may use."""
        query = (
            select(RegisteredModel)
            .where(col(RegisteredModel.enabled).is_(True))
            .order_by(RegisteredModel.name)
        )
        rows = (await session.exec(query)).all()
        found = [row for row in rows if await may_use(session, principal, row)]
        own = [one for one in self.built_in if may_use_built_in(principal, one.id)]
        default = next((row.id for row in found if row.is_default), own[0].id)
        if own[0] is not self._own and found and default == own[0].id:
            default = found[0].id
        return UsableModels(own, found, default)

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


async def find_usable(
    session: AsyncSession, principal: Principal, model_id: str
) -> RegisteredModel:
    """A registered model that the caller may use.

    Raises:
        ModelNotFound: there is none of this id, or not for the caller.
    """
    row = await session.get(RegisteredModel, model_id) if is_id(model_id) else None
    if row is None or not row.enabled or not await may_use(session, principal, row):
        raise ModelNotFound
    return row


async def may_use(session: AsyncSession, principal: Principal, row: RegisteredModel) -> bool:
    """The gate: what the account's own list says, else the model's own lists."""
    is_open = principal.model_access is not None or await _is_open(session, principal, row)
    return may_use_model(principal, row.id, is_open=is_open)


def may_use_built_in(principal: Principal, model_id: str) -> bool:
    """The same for the installation's own models; the offline one, which only quotes, is for all."""
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
