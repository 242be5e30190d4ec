"""Ready checks of Agentex's services."""

import asyncio
import ssl
import sys
from http import HTTPStatus

import httpx
from redis.asyncio import Redis
from redis.exceptions import RedisError

from cli.supervisor.service import ReadinessCheck
from cli.ui.i18n.supervisor import base_url
from core.errors.base import AgentexError
from core.redis.client import open_redis
from core.redis.heartbeats import count_workers
from core.settings import Settings, get_settings
from kb_service.engine_client.client import EngineClient

_HTTP_TIMEOUT = 2.0
# The API is asked without TLS, ten times a second while it starts: reading the certificates anew
# each time would take a quarter of a core from it.
_NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


async def check_redis(settings: Settings) -> ReadinessCheck:
    """Check that Redis answers PING, which it refuses while it loads its file."""
    async with open_redis(settings) as redis:
        try:
            # redis has partial types.
            await redis.ping()  # pyright: ignore[reportUnknownMemberType]
        except (RedisError, OSError):
            return ReadinessCheck(False, "not answering yet")
    return ReadinessCheck(True)


async def check_worker(settings: Settings) -> ReadinessCheck:
    """Check that a worker has sent a heartbeat."""
    async with open_redis(settings) as redis:
        return await _find_worker(redis)


async def check_engine(settings: Settings) -> ReadinessCheck:
    """Check that the engine has loaded its encoder and its index."""
    client = EngineClient(settings.effective_engine_socket)
    try:
        health = await client.health()
    except (AgentexError, OSError):
        return ReadinessCheck(False, "not answering yet")
    finally:
        await client.close()
    return ReadinessCheck(health.state == "ready", health.state)


async def check_api(url: str) -> ReadinessCheck:
    """Check that the API answers, independently of the other parts."""
    status, _ = await _get(f"{url}/healthz")
    return ReadinessCheck(status == HTTPStatus.OK, "" if status else "not answering yet")


async def check_all(url: str) -> ReadinessCheck:
    """Check that the API reports itself and everything it needs as ready."""
    status, text = await _get(f"{url}/readyz")
    return ReadinessCheck(status == HTTPStatus.OK, text)


async def _find_worker(redis: Redis) -> ReadinessCheck:
    try:
        count = await count_workers(redis)
    except (RedisError, OSError):
        return ReadinessCheck(False, "waits for redis")
    return ReadinessCheck(count > 0, "connects to the queue")


async def _get(url: str) -> tuple[int, str]:
    async with httpx.AsyncClient(timeout=_HTTP_TIMEOUT, trust_env=False, verify=_NO_CERTIFICATES) as client:
        try:
            answer = await client.get(url)
        except (httpx.HTTPError, OSError):
            return 0, ""
    return answer.status_code, answer.text


def main() -> None:
    """Check one part, for a container's health check: ``python -m cli.supervisor.checks PART``."""
    settings = get_settings()
    checks = {
        "redis": lambda: check_redis(settings),
        "engine": lambda: check_engine(settings),
        "worker": lambda: check_worker(settings),
        "api": lambda: check_api(base_url(settings)),
    }
    answer = asyncio.run(checks[sys.argv[1]]())
    sys.exit(0 if answer.ready else answer.detail or "not ready")


if __name__ == "__main__":
    main()
