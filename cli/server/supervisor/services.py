"""Agentex's own parts, and which of them run here under these settings."""

import functools

from cli.server.exec import module_command
from cli.server.supervisor import health_checks, redis_server
from cli.server.supervisor.service import Part
from cli.ui.i18n.supervisor import base_url
from core.settings import Settings


def list_parts(settings: Settings) -> list[Part]:
    """The parts in their order of start.

    Redis and the engine start together with the preparation of the database; the worker and
    the API need its tables, and wait for Redis and the engine by themselves.

    Raises:
        RedisServerMissing: a private Redis is wanted and this machine has none.
    """
    return [
        _redis(settings),
        Part("database", module_command("cli.server.migrate"), one_shot=True),
        Part(
            "engine",
            module_command("kb_service.engine"),
            functools.partial(health_checks.check_engine, settings),
        ),
        Part(
            "worker",
            module_command("ingestion.worker"),
            functools.partial(health_checks.check_worker, settings),
            after=("database",),
        ),
        Part(
            "api",
            module_command("api"),
            functools.partial(health_checks.check_api, base_url(settings)),
            after=("database",),
        ),
    ]


def _redis(settings: Settings) -> Part:
    if settings.redis_url is not None:
        return Part("redis")
    folder = redis_server.data_folder(settings)
    return Part(
        "redis",
        (redis_server.find_program(), str(redis_server.write_configuration(settings))),
        functools.partial(health_checks.check_redis, settings),
        advice=(
            f"Redis holds nothing that Agentex can't make again. If its file is damaged, stop "
            f"Agentex, delete {folder} and start again.\n"
            f"Redis 中没有不可恢复的数据。若文件损坏，请停止 Agentex，删除 {folder} 后重新启动。"
        ),
    )
