"""``python -m cli.model_check``: whether the configured language model answers, as JSON.

A process of its own: the terminal client does not load what the server is made of.
"""

import asyncio
import json
import sys
from contextlib import aclosing, redirect_stdout
from dataclasses import asdict, dataclass, replace

import httpx

from agents.models import configured_endpoint, open_model
from agents.models.port import Message
from core.errors import ModelFailed, UnusableSetting
from core.settings import Settings, get_settings

_SECONDS = 30.0
_QUESTION = (Message("user", "Say hello."),)


@dataclass(frozen=True, slots=True)
class _Probe:
    """What came of the question.

    Attributes:
        provider: Empty in offline mode.
        fault: Stable name of what is wrong; empty if the model answered.
        reason: The fact and the next step, in English.
        reason_zh: The same in Chinese.
    """

    provider: str = ""
    model: str = ""
    fault: str = ""
    reason: str = ""
    reason_zh: str = ""


async def _probe(settings: Settings) -> _Probe:
    """Ask the model of the settings for its first word, once, for at most half a minute.

    Raises:
        UnusableSetting: The settings name no usable model.
    """
    endpoint = configured_endpoint(settings)
    if endpoint is None:
        return _Probe()
    hasty = replace(
        endpoint,
        attempts=1,
        read_timeout_seconds=min(_SECONDS, endpoint.read_timeout_seconds),
        call_seconds=min(_SECONDS, endpoint.call_seconds),
    )
    found = _Probe(endpoint.provider, endpoint.model)
    async with httpx.AsyncClient(follow_redirects=False) as client:
        try:
            async with aclosing(open_model(hasty, client).events(_QUESTION)) as events:
                await anext(events)
        except ModelFailed as failure:
            said = {name: str(failure.details[name]) for name in ("fault", "reason", "reason_zh")}
            return replace(found, **said)
    return found


def main() -> None:
    """Print what came of asking the model once."""
    try:
        # Standard output is the answer's; what is logged goes elsewhere.
        with redirect_stdout(sys.stderr):
            found = asyncio.run(_probe(get_settings()))
    except UnusableSetting as error:
        reason = f"{error.details['setting']}: {error.details['error']}"
        found = _Probe(fault="unusable_setting", reason=reason, reason_zh=reason)
    json.dump(asdict(found), sys.stdout)


if __name__ == "__main__":
    main()
