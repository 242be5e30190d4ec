"""Probe of the parsing services that are switched on: a child process that prints JSON, as ``probe_backends`` does."""

import asyncio
import json
import sys
from contextlib import redirect_stdout
from importlib import import_module
from typing import Protocol, cast

from core.settings import Settings, get_settings
from core.settings.parser_services import SERVICE_URLS
from core.types.document_parsers import PARSERS_BY_NAME
from ingestion.parsers.remote.parser import ParsingService
from ingestion.parsers.remote.service_client import ServiceFinding


class _ServiceModule(Protocol):
    def open_service(self, settings: Settings) -> ParsingService: ...


async def check_services(settings: Settings) -> dict[str, ServiceFinding]:
    """The state of each service that ``AGENTEX_PARSERS`` names, by that name; each may take twenty seconds."""
    names = [name for name in SERVICE_URLS if name in settings.parsers]
    return dict(zip(names, await asyncio.gather(*(_check(settings, name) for name in names)), strict=True))


async def _check(settings: Settings, name: str) -> ServiceFinding:
    module = cast("_ServiceModule", import_module(PARSERS_BY_NAME[name].module))
    service = module.open_service(settings)
    try:
        return await service.check()
    finally:
        await service.close()


def main() -> None:
    """Print the states as JSON, by the names of the parsers."""
    # Standard output is for the result, not for logs.
    with redirect_stdout(sys.stderr):
        states = asyncio.run(check_services(get_settings()))
    json.dump(states, sys.stdout)


if __name__ == "__main__":
    main()
