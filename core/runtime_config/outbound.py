"""The guards of outgoing connections, which follow the current settings."""

from core.outbound.guard import OutboundGuard, OutboundGuards, PrivateReach
from core.runtime_config.live import LiveSettings


class OutboundPolicy:
    """Which private addresses are open to whom, by the current settings.

    The operator's list counts for everybody. To what administrators chose, loopback and private
    networks are open too while only this machine reaches the server. A request through a proxy
    says that others do, whatever the settings say; that counts until the process ends.
    """

    def __init__(self, live: LiveSettings) -> None:
        self._live = live
        self._is_proxied = False
        self.guards = OutboundGuards(
            OutboundGuard(reach=self.reach_of_everybody), OutboundGuard(reach=self.reach_of_administrators)
        )

    def note_proxy(self) -> None:
        """Note that a request came through a proxy."""
        self._is_proxied = True

    async def reach_of_everybody(self) -> PrivateReach:
        settings = await self._live.now()
        return PrivateReach(frozenset(settings.allowed_private_targets))

    async def reach_of_administrators(self) -> PrivateReach:
        settings = await self._live.now()
        is_open = settings.is_local_only and not self._is_proxied
        return PrivateReach(frozenset(settings.allowed_private_targets), is_open)
