"""``agentex doctor``: what is well here and at the server, and what to do about the rest."""

from rich.text import Text

from cli import messages
from cli.client import ApiClient
from cli.command import JsonOption, LanguageOption, Options, UrlOption, run
from cli.doctor_checks import (
    Check,
    Verdict,
    check_disk,
    check_encoder,
    check_folder,
    check_login,
    check_model,
    check_parts,
    check_python,
    check_redis,
    check_server,
    unreached,
)
from cli.output import Output
from cli.problems import ExitCode
from cli.transport import is_loopback
from core.settings import get_settings

_WORDS = {
    Verdict.OK: (messages.CHECK_OK, "green"),
    Verdict.WARNING: (messages.CHECK_WARNING, "yellow"),
    Verdict.FAILED: (messages.CHECK_FAILED, "red"),
    Verdict.SKIPPED: (messages.CHECK_SKIPPED, "dim"),
}


def doctor(
    url: UrlOption = None, json_only: JsonOption = False, language: LanguageOption = None
) -> None:
    """Check this machine, the server and your login; say what to do where something is wrong.

    Works without a server too. Exit code 1 means that a check failed.
    """

    async def body(output: Output, client: ApiClient) -> ExitCode:
        checks = [*await _look_here(output, client), *await _look_there(output, client)]
        failed = sum(check.verdict is Verdict.FAILED for check in checks)
        output.emit({"ok": not failed, "checks": [check.to_json() for check in checks]})
        for check in checks:
            _show(output, check)
        if failed:
            output.say(messages.SOME_BAD, count=failed)
        else:
            output.say(messages.ALL_WELL)
        return ExitCode.FAILED if failed else ExitCode.OK

    run(Options(json_only, language, url), body)


async def _look_here(output: Output, client: ApiClient) -> list[Check]:
    checks = [check_python(output)]
    # Another machine's server does not use this one's folder, Redis and encoder.
    if is_loopback(client.transport.url):
        settings = get_settings()
        checks += [check_folder(output, settings), check_disk(output, settings)]
        checks += [check_redis(output, settings), await check_encoder(output)]
        checks.append(await check_model(output, settings))
    return checks


async def _look_there(output: Output, client: ApiClient) -> list[Check]:
    server = await check_server(output, client)
    if server.verdict is not Verdict.OK:
        return [server, *unreached(output)]
    return [server, *await check_parts(output, client), await check_login(output, client)]


def _show(output: Output, check: Check) -> None:
    word, colour = _WORDS[check.verdict]
    finding = f"{output.render(check.title)}: {check.detail}".rstrip(": ")
    output.print(Text.assemble((f"{output.render(word):<8}", colour), finding))
    if check.hint:
        output.print(f"        → {check.hint}", "yellow")
