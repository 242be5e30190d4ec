"""Pages of any site, each read as its own site's robots.txt allows."""

from urllib.robotparser import RobotFileParser

import httpx

from core.outbound.guard import OutboundGuard
from ingestion.connectors.base import ItemUnreadable, ReadFailure, SourceUnavailable
from ingestion.connectors.web_client import (
    ElsewhereError,
    Page,
    WebClient,
    origin_of,
    robots_failure,
    too_many_redirects,
)

_MOST_SITES = 5


class LinkedPages:
    """Reads single pages wherever they are; what a site's robots.txt says is asked for once."""

    def __init__(self, guard: OutboundGuard, max_bytes: int) -> None:
        self._guard = guard
        self._max_bytes = max_bytes
        self._robots: dict[str, tuple[RobotFileParser | None, float] | ReadFailure] = {}

    async def read(self, url: httpx.URL) -> Page:
        """The page, also where redirects lead to other sites; raises ``ItemUnreadable`` as ``WebClient.get`` does."""
        for _ in range(_MOST_SITES):
            try:
                return await self._read(url)
            except ElsewhereError as error:
                url = error.url
        raise ItemUnreadable(too_many_redirects())

    async def _read(self, url: httpx.URL) -> Page:
        origin = origin_of(url)
        robots = self._robots.get(origin)
        if isinstance(robots, ReadFailure):
            raise ItemUnreadable(robots)
        rules, delay = robots or (None, 0.0)
        async with WebClient(self._guard, origin, self._max_bytes, delay, rules) as client:
            if robots is None:
                await self._read_robots(client, origin)
            if not client.allows(url):
                raise ItemUnreadable(robots_failure(url))
            return await client.get(url)

    async def _read_robots(self, client: WebClient, origin: str) -> None:
        try:
            await client.read_robots()
        except SourceUnavailable as error:
            # A site that is away is not waited for again by each of its pages.
            self._robots[origin] = error.failure
            raise ItemUnreadable(error.failure) from error
        self._robots[origin] = client.robots, client.delay
