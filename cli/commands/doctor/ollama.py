"""Check of ``agentex doctor`` for an Ollama on this machine, with the offer to use it."""

import shlex
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, ValidationError

from cli.commands.doctor.local import CheckResult, CheckVerdict
from cli.ui.i18n import doctor as messages
from cli.ui.output import Output
from core.errors.requests import PRIVATE_TARGETS
from core.settings import Settings, read_variable
from core.types.network import HostPort, is_loopback_host

NAME = "ollama"
_SECONDS = 2.0
_USUAL = HostPort("127.0.0.1", 11434)
_EVERY_ADDRESS = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 (compared, not bound)
_MOST_SHOWN = 5


class _OllamaModel(BaseModel):
    name: str


class _OllamaModels(BaseModel):
    models: list[_OllamaModel]


async def check_ollama(output: Output, settings: Settings) -> CheckResult:
    """Look for an Ollama where it usually listens, or where its own ``OLLAMA_HOST`` says."""
    place = _place(read_variable("OLLAMA_HOST") or "")
    names = await _models(place)
    if names is None:
        detail = output.render(messages.OLLAMA_NONE, place=place.key)
        return CheckResult(NAME, messages.OLLAMA, CheckVerdict.OK, detail)
    if not names:
        detail = output.render(messages.OLLAMA_EMPTY, place=place.key)
        return CheckResult(NAME, messages.OLLAMA, CheckVerdict.OK, detail, output.render(messages.OLLAMA_EMPTY_HINT))
    listed = ", ".join([*names[:_MOST_SHOWN], *(["..."] if len(names) > _MOST_SHOWN else [])])
    detail = output.render(messages.OLLAMA_HAS, place=place.key, models=listed)
    is_offline = not (settings.llm_base_url or settings.llm_model)
    hint = _offer(output, settings, place, names[0]) if is_offline else ""
    return CheckResult(NAME, messages.OLLAMA, CheckVerdict.OK, detail, hint)


def _place(setting: str) -> HostPort:
    """The address that ``OLLAMA_HOST`` names; the usual one where that is another machine's or unreadable."""
    try:
        parts = urlsplit(setting if "://" in setting else f"http://{setting}")
        host, port = parts.hostname or "", parts.port or _USUAL.port
    except ValueError:
        return _USUAL
    if host in _EVERY_ADDRESS:
        return HostPort(_USUAL.host, port)
    return HostPort(host, port) if is_loopback_host(host) else _USUAL


async def _models(place: HostPort) -> list[str] | None:
    """The names of its models; None if no Ollama answers there."""
    try:
        async with httpx.AsyncClient(timeout=_SECONDS, trust_env=False) as client:
            answer = await client.get(f"http://{place.key}/api/tags")
            # What it prints is a stranger's: no control characters reach the terminal.
            names = [model.name for model in _OllamaModels.model_validate_json(answer.content).models]
    except (httpx.HTTPError, ValidationError):
        return None
    return [name for name in names if name.isprintable()]


def _offer(output: Output, settings: Settings, place: HostPort, name: str) -> str:
    options = [] if place == _USUAL else ["--base-url", f"http://{place.key}/v1"]
    command = ["agentex", "admin", "models", "add", name, "--provider", "ollama", "--model", name, *options]
    offer = output.render(messages.OLLAMA_OFFER, command=shlex.join([*command, "--default"]))
    if settings.is_local_only or place.key in settings.allowed_private_targets:
        return offer
    targets = ",".join([*settings.allowed_private_targets, place.key])
    listing = shlex.join(["agentex", "admin", "config", "set", PRIVATE_TARGETS, targets])
    return f"{output.render(messages.OLLAMA_LIST_FIRST, command=listing)} {offer}"
