"""ARQ's worker in a product whose Redis may be away."""

import asyncio

from arq.worker import Worker
from redis.exceptions import RedisError

from core.logging import get_logger

log = get_logger(__name__)

_AGAIN_SECONDS = 0.5


class QueueWorker(Worker):
    """Goes on while Redis is away, which holds no truth: documents wait in SQL, and are seen there.

    ARQ's own worker would end, and with it the work that is under way.
    """

    _is_away = False

    @property
    def is_away(self) -> bool:
        """Whether Redis gave no answer the last time."""
        return self._is_away

    async def _poll_iteration(self) -> None:
        try:
            await super()._poll_iteration()
        except (RedisError, OSError) as error:
            if not self._is_away:
                log.warning("worker.queue_away", cause=type(error).__name__)
            self._is_away = True
            await asyncio.sleep(_AGAIN_SECONDS)
            return
        if self._is_away:
            log.info("worker.queue_back")
        self._is_away = False
