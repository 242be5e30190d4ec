"""All parts, from the claim on the data folder to the last one's end."""

import asyncio
import contextlib
import sys
import time
from importlib import import_module

from rich.console import Console

from cli.server.supervisor.display import Screen
from cli.server.supervisor.health_checks import check_all
from cli.server.supervisor.preflight import (
    EXIT_CANNOT_START,
    STATE_FILE,
    CannotStart,
    claim_folder,
    claim_port,
    clean_up,
)
from cli.server.supervisor.redis_server import RedisServerMissing
from cli.server.supervisor.service import Pace, Part
from cli.server.supervisor.services import list_parts
from cli.server.supervisor.status_file import Board
from cli.server.supervisor.supervisor import supervise
from cli.ui.i18n import supervisor as messages
from core.errors.server import UnusableSetting
from core.process import freeze_loaded_objects
from core.settings import Settings, get_settings
from kb_service.embeddings.catalog import served_models

_READY_SECONDS = 60.0
_ASK_EVERY_SECONDS = 0.1


def main() -> None:
    """Take the data folder, clean up what was left in it and run all parts."""
    screen = Screen(Console(highlight=False), verbose="--verbose" in sys.argv[1:])
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
            # By name: what asks models takes a third of this process's start to load.
            import_module("agents.llm.factory").configured_endpoint(settings)
    except UnusableSetting as error:
        message = f"{error.details['setting']}: {error.details['error']}"
        raise CannotStart(EXIT_CANNOT_START, message) from None


def _find_parts(settings: Settings) -> list[Part]:
    try:
        return list_parts(settings)
    except RedisServerMissing:
        raise CannotStart(EXIT_CANNOT_START, messages.redis_missing()) from None


async def _run(settings: Settings, parts: list[Part], screen: Screen) -> int:
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
        Board(parts, settings.runtime_dir / STATE_FILE, url=messages.base_url(settings)),
        screen,
        pace=Pace(drain=settings.drain_seconds),
        log_dir=settings.data_dir / "logs",
        announce=announce,
    )


async def _until_all_ready(url: str, screen: Screen) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while not (answer := await check_all(url)).ready:
        if time.monotonic() > deadline:
            screen.say(messages.not_yet_ready(answer.detail), "yellow")
            return
        await asyncio.sleep(_ASK_EVERY_SECONDS)
