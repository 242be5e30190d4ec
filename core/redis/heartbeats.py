"""Heartbeats of workers in Redis; separate from the queue, whose libraries take 25 MB."""

import os
import socket
from collections.abc import AsyncIterator
from typing import cast
from uuid import uuid4

import psutil
from redis.asyncio import Redis

_HEARTBEAT_PREFIX = "agentex:worker:"
_HEARTBEAT_SECONDS = 15


def worker_name() -> str:
    """A name for this process's leases and heartbeat: host, process id, and a random part per start."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"


async def send_heartbeat(redis: Redis, worker: str) -> None:
    """Announce this worker; the key expires after a few missed beats."""
    await redis.set(f"{_HEARTBEAT_PREFIX}{worker}", "1", ex=_HEARTBEAT_SECONDS)


async def remove_heartbeat(redis: Redis, worker: str) -> None:
    """Withdraw this worker's heartbeat at its end."""
    await redis.delete(f"{_HEARTBEAT_PREFIX}{worker}")


async def active_workers(redis: Redis) -> list[str]:
    """Names of workers with a recent heartbeat, except dead ones of this host."""
    keys = cast(
        AsyncIterator[bytes],
        redis.scan_iter(match=f"{_HEARTBEAT_PREFIX}*", count=100),  # pyright: ignore[reportUnknownMemberType] # redis has partial types
    )
    names = [key.decode().removeprefix(_HEARTBEAT_PREFIX) async for key in keys]
    return sorted(filter(_may_live, names))


async def count_workers(redis: Redis) -> int:
    """Number of workers with a recent heartbeat."""
    return len(await active_workers(redis))


def _may_live(worker: str) -> bool:
    host, process_id, _ = worker.rsplit(":", 2)
    return host != socket.gethostname() or psutil.pid_exists(int(process_id))
