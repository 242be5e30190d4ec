"""Secrets of a source that are replaced when they are used, kept in its row."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from core.db.unit_of_work import unit_of_work
from core.errors.base import AgentexError
from core.logging import get_logger
from core.security.vault import SecretKeyMismatchError
from ingestion.context import WorkerContext
from kb_service.knowledge_sources.secret_rotation import SecretClaim, SecretGone, claim_secret, release_secret

log = get_logger(__name__)

_LOOK_SECONDS = 0.5
_STORE_ATTEMPTS = 10
_CANCELLED_SECONDS = 30
_ResultT = TypeVar("_ResultT")


class SourceSecretRotation:
    """The secrets of one source, whose credentials were given for ``target``."""

    def __init__(self, context: WorkerContext, source_id: str, target: str) -> None:
        self._context = context
        self._source_id = source_id
        self._target = target

    async def use(self, name: str, exchange: Callable[[str], Awaitable[tuple[_ResultT, str]]]) -> _ResultT:
        """What ``exchange`` makes of the secret, while no other worker uses it.

        Args:
            exchange: takes the secret; gives its result, and the secret that is good from now on.

        Raises:
            LookupError: there is no such secret any more.
        """
        claim = await self._claim(name)
        task = asyncio.create_task(self._exchange(claim, exchange))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # What the service may have replaced by now would be lost.
            await asyncio.wait({task}, timeout=_CANCELLED_SECONDS)
            raise

    async def _claim(self, name: str) -> SecretClaim:
        while True:
            try:
                async with unit_of_work(self._context.database) as work:
                    claim = await claim_secret(
                        work.session, self._context.source_vault, self._source_id, name=name, target=self._target
                    )
            except (SecretGone, SecretKeyMismatchError) as error:
                raise LookupError(name) from error
            if claim is not None:
                return claim
            # Ends with the other worker's use, or with its time.
            await asyncio.sleep(_LOOK_SECONDS)

    async def _exchange(
        self, claim: SecretClaim, exchange: Callable[[str], Awaitable[tuple[_ResultT, str]]]
    ) -> _ResultT:
        try:
            result, replacement = await exchange(claim.value)
        except BaseException:
            await self._release(claim, None)
            raise
        await self._release(claim, replacement if replacement != claim.value else None)
        return result

    async def _release(self, claim: SecretClaim, replacement: str | None) -> None:
        """Again if the database is away: the old secret may be of no use."""
        for number in range(1, _STORE_ATTEMPTS + 1):
            try:
                async with unit_of_work(self._context.database, urgent=True) as work:
                    is_there = await release_secret(work.session, self._context.source_vault, claim, replacement)
            except AgentexError as error:
                log.warning("source_sync.secret_not_stored", source_id=claim.source_id, code=error.code)
                if number == _STORE_ATTEMPTS:
                    raise
                await asyncio.sleep(1)
            else:
                if replacement is not None:
                    log.info("source_sync.secret_rotated", source_id=claim.source_id, is_kept=is_there)
                return
