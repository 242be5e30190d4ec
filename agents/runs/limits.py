"""The limits of new runs, which administrators may change at any time."""

from dataclasses import dataclass, replace

from sqlmodel.ext.asyncio.session import AsyncSession

from agents.run_context import RunLimits, limits_for_timeout
from core.runtime_config.live import LiveSettings
from core.settings import Settings


def limits_from_settings(settings: Settings) -> RunLimits:
    """The limits of a run by these settings."""
    return limits_for_timeout(
        settings.run_timeout_seconds, max_turns=settings.run_max_turns, max_tokens=settings.run_max_tokens
    )


@dataclass(frozen=True)
class CurrentLimits:
    """The limits at this moment; ``most_sessions`` per user is 0 for no limit."""

    limits: RunLimits
    most_sessions: int = 0


class LimitsProvider:
    """The current limits of runs.

    ``standing`` is fixed for the process: the policies, and everything if there are no live settings.
    """

    def __init__(self, standing: RunLimits, live: LiveSettings | None = None) -> None:
        self.standing = standing
        self._live = live

    async def now(self) -> RunLimits:
        if self._live is None:
            return self.standing
        return replace(limits_from_settings(await self._live.now()), policies=self.standing.policies)

    async def read(self, session: AsyncSession) -> CurrentLimits:
        if self._live is None:
            return CurrentLimits(self.standing)
        settings = await self._live.read(session)
        limits = replace(limits_from_settings(settings), policies=self.standing.policies)
        return CurrentLimits(limits, settings.max_sessions_per_user)
