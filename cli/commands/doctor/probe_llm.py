"""Probe of the configured language model: a child process that prints JSON.

A separate process, because the terminal client does not import server code.
"""

import asyncio
import json
import sys
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, replace

import httpx

from agents.llm.factory import configured_endpoint, create_model
from agents.llm_registry.probe import probe_model
from core.errors.server import UnusableSetting
from core.settings import Settings, get_settings


@dataclass(frozen=True, slots=True)
class _LlmProbe:
    """Result of the probe.

    Attributes:
        fault: stable name of the problem; empty if the model answered.
        reason: the fact and the next step, in English.
    """

    provider: str = ""
    model: str = ""
    fault: str = ""
    reason: str = ""
    reason_zh: str = ""


async def _probe(settings: Settings) -> _LlmProbe:
    endpoint = configured_endpoint(settings)
    if endpoint is None:
        return _LlmProbe()
    probe = _LlmProbe(endpoint.provider, endpoint.model)
    async with httpx.AsyncClient(follow_redirects=False) as client:
        came = await probe_model(create_model(endpoint, client))
    return replace(probe, fault=came.fault, reason=came.reason, reason_zh=came.reason_zh)


def main() -> None:
    """Print the result of asking the model once."""
    try:
        # Standard output is for the result, not for logs.
        with redirect_stdout(sys.stderr):
            probe = asyncio.run(_probe(get_settings()))
    except UnusableSetting as error:
        reason = f"{error.details['setting']}: {error.details['error']}"
        probe = _LlmProbe(fault="unusable_setting", reason=reason, reason_zh=reason)
    json.dump(asdict(probe), sys.stdout)


if __name__ == "__main__":
    main()
