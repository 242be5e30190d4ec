"""The limits of runs that begin now, which administrators may change at any time."""

from dataclasses import dataclass, replace

from sqlmodel.ext.asyncio.session import AsyncSession

from agents.strategies.base import RunLimits, limits_for_timeout
from core.runtime_config.live import LiveSettings
from core.settings import Settings


def limits_from_settings(settings: Settings) -> RunLimits:
    """What a run may spend by these settings."""
    return limits_for_timeout(
        settings.run_timeout_seconds,
        max_turns=settings.run_max_turns,
        max_tokens=settings.run_max_tokens,
    )


@dataclass(frozen=True)
class Allowed:
    """What is allowed at this moment.

    Args:
        limits: what a run may spend.
        most_sessions: that a user may have; 0 for any number.
    """

    limits: RunLimits
    most_sessions: int = 0


class LimitsProvider:
    """What runs that begin now may spend.

    Args:
        standing: what holds for as long as the process runs: the policies, and everything where
            there are no live settings.
        live: what administrators may change.
    """

    def __init__(self, standing: RunLimits, live: LiveSettings | None = None) -> None:
        self.standing = standing
        self._live = live

    async def now(self) -> RunLimits:
        """The limits of a run that begins or goes on at this moment.

        Raises:
            DatabaseUnavailable: nobody knows.
        """
        if self._live is None:
            return self.standing
        return replace(
            limits_from_settings(await self._live.now()), policies=self.standing.policies
        )

    async def read(self, session: AsyncSession) -> Allowed:
        """The same in a session that is open already, with what else is limited."""
        if self._live is None:
            return Allowed(self.standing)
        settings = await self._live.read(session)
        limits = replace(limits_from_settings(settings), policies=self.standing.policies)
        return Allowed(limits, settings.max_sessions_per_user)
