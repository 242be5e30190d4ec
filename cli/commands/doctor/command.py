"""``agentex doctor``: checks of this machine and of the server, with next steps."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from rich.text import Text

from cli.client.api import ApiClient
from cli.client.transport import is_loopback
from cli.command import JsonOption, LanguageOption, Options, UrlOption, run
from cli.commands.doctor import server as doctor_server
from cli.commands.doctor.backends import BackendReports, check_kept_parts, look_at_parts
from cli.commands.doctor.local import (
    CheckResult,
    CheckVerdict,
    check_conversion,
    check_disk,
    check_encoder,
    check_folder,
    check_login,
    check_model,
    check_parts,
    check_python,
    check_recognition,
    check_redis,
    check_server,
    check_unstructured,
    skipped,
)
from cli.commands.doctor.ollama import NAME as OLLAMA
from cli.commands.doctor.ollama import check_ollama
from cli.commands.doctor.parser_services import check_parser_services
from cli.commands.doctor.security import (
    check_clock,
    check_exposure,
    check_secret_key,
    check_transport,
    first_answer,
    server_skew,
)
from cli.errors import ExitCode
from cli.ui.i18n import common as messages
from cli.ui.i18n.doctor import LOG_IN_FIRST
from cli.ui.output import Output
from core.settings import Settings, get_settings

# The registry of checks on settings and local files; each is quick.
_HERE: tuple[Callable[[Output, Settings], CheckResult], ...] = (
    check_folder,
    check_disk,
    check_exposure,
    check_redis,
    check_recognition,
    check_conversion,
    check_unstructured,
)
_WORDS = {
    CheckVerdict.OK: (messages.CHECK_OK, "green"),
    CheckVerdict.WARNING: (messages.CHECK_WARNING, "yellow"),
    CheckVerdict.FAILED: (messages.CHECK_FAILED, "red"),
    CheckVerdict.SKIPPED: (messages.CHECK_SKIPPED, "dim"),
}


def doctor(url: UrlOption = None, json_only: JsonOption = False, language: LanguageOption = None) -> None:
    """Check this machine, the server and your login; say what to do where something is wrong.

    Works without a server too. Each registered model gets one short request, as its test does.
    Exit code 1 means that a check failed.
    """

    async def body(output: Output, client: ApiClient) -> ExitCode:
        here, there = await _look_here(output, client), await _look_there(output, client)
        checks = [*_without_needless_offer(here, there), *there]
        failed = sum(check.verdict is CheckVerdict.FAILED for check in checks)
        output.emit({"ok": not failed, "checks": [check.to_json() for check in checks]})
        for check in checks:
            _show(output, check)
        if failed:
            output.say(messages.SOME_BAD, count=failed)
        else:
            output.say(messages.ALL_WELL)
        return ExitCode.FAILED if failed else ExitCode.OK

    run(Options(json_only, language, url), body)


async def _look_here(output: Output, client: ApiClient) -> list[CheckResult]:
    headers = await first_answer(client)
    skews = server_skew(headers)
    checks = [check_python(output)]
    # Another machine's server does not use this one's folder, Redis and encoder.
    if is_loopback(client.transport.url):
        settings = get_settings()
        checks += [check(output, settings) for check in _HERE]
        parts, encoder, model, ollama, services = await asyncio.gather(
            look_at_parts(),
            check_encoder(output),
            check_model(output, settings),
            check_ollama(output, settings),
            check_parser_services(output, settings),
        )
        checks.append(check_secret_key(output, settings, parts.database.state if parts else None))
        checks += [*check_kept_parts(output, settings, parts), encoder, model, ollama, *services]
        skews |= _skews_of(parts)
    if headers:
        checks.append(await check_transport(output, client.transport.url, headers))
    return [*checks, check_clock(output, skews)]


def _without_needless_offer(here: list[CheckResult], there: list[CheckResult]) -> list[CheckResult]:
    """The checks without the offer of an Ollama, if models are registered."""
    if not any(check.name.startswith("model:") for check in there):
        return here
    return [replace(check, hint="") if check.name == OLLAMA else check for check in here]


def _skews_of(parts: BackendReports | None) -> dict[str, float]:
    """Seconds by which the clocks of parts on other machines are ahead of this one."""
    if parts is None:
        return {}
    backends = {"database": parts.database, "Redis": parts.redis}
    return {name: part.skew for name, part in backends.items() if part.state == "ok" and part.skew}


async def _look_there(output: Output, client: ApiClient) -> list[CheckResult]:
    server = await check_server(output, client)
    if server.verdict is not CheckVerdict.OK:
        names = {"ready": messages.CHECK_READY, "login": messages.CHECK_LOGIN}
        return [server, *skipped(output, names | doctor_server.TITLES, messages.NOT_CHECKED)]
    checks = [server, *await check_parts(output, client)]
    login = await check_login(output, client)
    # No credentials are created for this.
    if login.verdict is not CheckVerdict.OK or client.sign_in.would_bootstrap:
        return [*checks, login, *skipped(output, doctor_server.TITLES, LOG_IN_FIRST)]
    return [*checks, login, *await doctor_server.check_things(output, client)]


def _show(output: Output, check: CheckResult) -> None:
    word, colour = _WORDS[check.verdict]
    finding = f"{output.render(check.title)}: {check.detail}".rstrip(": ")
    output.print(Text.assemble((f"{output.render(word):<8}", colour), finding))
    if check.hint:
        output.print(f"        → {check.hint}", "yellow")
