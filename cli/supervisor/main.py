"""The main function of the supervisor and the list of its services."""

import asyncio
import contextlib
import functools
import sys
import time
from importlib import import_module

from rich.console import Console

from cli.server.exec import module_command
from cli.supervisor import checks, redis_server
from cli.supervisor.checks import check_all
from cli.supervisor.display import StatusDisplay
from cli.supervisor.preflight import EXIT_CANNOT_START, STATE_FILE, CannotStart, claim_folder, claim_port, clean_up
from cli.supervisor.redis_server import RedisServerMissing
from cli.supervisor.service import RestartPace, Service
from cli.supervisor.status_file import StatusFile
from cli.supervisor.supervisor import supervise
from cli.ui.i18n import supervisor as messages
from cli.ui.i18n.supervisor import base_url
from core.errors.server import UnusableSetting
from core.process import freeze_loaded_objects
from core.settings import Settings, get_settings
from kb_service.embeddings.catalog import served_models

_READY_SECONDS = 60.0
_ASK_EVERY_SECONDS = 0.1


def main() -> None:
    """Claim the data folder, clean up leftovers and run all parts."""
    screen = StatusDisplay(Console(highlight=False), verbose="--verbose" in sys.argv[1:])
    try:
        settings = get_settings()
        _check_models(settings)
        claim_folder(settings)
        if stopped := clean_up(settings):
            screen.say(messages.stopped_leftovers(stopped))
        settings = claim_port(settings)
        parts = _find_parts(settings)
    except CannotStart as error:
        screen.say(str(error), "bold red")
        sys.exit(error.code)
    freeze_loaded_objects()
    sys.exit(asyncio.run(_run(settings, parts, screen)))


def _check_models(settings: Settings) -> None:
    try:
        served_models(settings)
        if settings.llm_provider or settings.llm_base_url or settings.llm_model:
            # Imported by name: the model client takes a third of this process's start.
            import_module("agents.llm.factory").configured_endpoint(settings)
    except UnusableSetting as error:
        message = f"{error.details['setting']}: {error.details['error']}"
        raise CannotStart(EXIT_CANNOT_START, message) from None


def _find_parts(settings: Settings) -> list[Service]:
    try:
        return list_parts(settings)
    except RedisServerMissing:
        raise CannotStart(EXIT_CANNOT_START, messages.redis_missing()) from None


async def _run(settings: Settings, parts: list[Service], screen: StatusDisplay) -> int:
    began = time.monotonic()
    password_file = settings.data_dir / messages.INITIAL_PASSWORD_FILE
    first_start = not password_file.exists()

    async def announce() -> None:
        await _until_all_ready(messages.base_url(settings), screen)
        password = None
        if first_start:
            with contextlib.suppress(OSError):
                password = password_file.read_text(encoding="utf-8").strip()
        seconds = time.monotonic() - began
        screen.say(messages.welcome(settings, seconds=seconds, password=password))

    return await supervise(
        parts,
        StatusFile(parts, settings.runtime_dir / STATE_FILE, url=messages.base_url(settings)),
        screen,
        pace=RestartPace(drain=settings.drain_seconds),
        log_dir=settings.data_dir / "logs",
        announce=announce,
    )


async def _until_all_ready(url: str, screen: StatusDisplay) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while not (answer := await check_all(url)).ready:
        if time.monotonic() > deadline:
            screen.say(messages.not_yet_ready(answer.detail), "yellow")
            return
        await asyncio.sleep(_ASK_EVERY_SECONDS)


def list_parts(settings: Settings) -> list[Service]:
    """The parts in their order of start.

    Redis and the engine start together with the preparation of the database; the worker and
    the API need its tables, and wait for Redis and the engine by themselves.
    """
    return [
        _redis(settings),
        Service("database", module_command("cli.server.migrate"), one_shot=True),
        Service("engine", module_command("kb_service.engine"), functools.partial(checks.check_engine, settings)),
        Service(
            "worker",
            module_command("ingestion.worker"),
            functools.partial(checks.check_worker, settings),
            after=("database",),
        ),
        Service(
            "api", module_command("api"), functools.partial(checks.check_api, base_url(settings)), after=("database",)
        ),
    ]


def _redis(settings: Settings) -> Service:
    if settings.redis_url is not None:
        return Service("redis")
    folder = redis_server.data_folder(settings)
    return Service(
        "redis",
        (redis_server.find_program(), str(redis_server.write_configuration(settings))),
        functools.partial(checks.check_redis, settings),
        advice=(
            f"Redis holds nothing that Agentex can't make again. If its file is damaged, stop "
            f"Agentex, delete {folder} and start again.\n"
            f"Redis 中没有不可恢复的数据。若文件损坏，请停止 Agentex，删除 {folder} 后重新启动。"
        ),
    )
