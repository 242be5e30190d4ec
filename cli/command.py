"""What all client commands share: their common options, and how one runs to its exit code."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, NoReturn

import httpx
import typer

from cli.client import ApiClient
from cli.credentials import CredentialStore
from cli.messages import BAD_URL, BOOTSTRAPPED, Language
from cli.output import Output
from cli.problems import CommandFailed, ExitCode, ServerRefused
from cli.sign_in import Bootstrap, SignIn, find_bootstrap, own_url
from cli.transport import Transport
from core.errors import InvalidRequest
from core.settings import Settings, get_settings, preferred_language

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")
]
LanguageOption = Annotated[
    Language | None, typer.Option("--lang", help="Language of the messages; by default LANG's.")
]
UrlOption = Annotated[
    str | None,
    typer.Option(
        "--url",
        help="The server; by default AGENTEX_URL, the last login's, or this machine's own.",
        metavar="URL",
    ),
]


@dataclass(frozen=True)
class Options:
    """The options that every client command has."""

    json_only: bool = False
    language: Language | None = None
    url: str | None = None


Body = Callable[[Output, ApiClient], Awaitable[ExitCode]]


def run(options: Options, body: Body) -> NoReturn:
    """Run a command against the server and leave with its exit code."""
    output = open_output(options)

    def work() -> ExitCode:
        async def connected() -> ExitCode:
            async with open_client(options, output) as client:
                return await body(output, client)

        return asyncio.run(connected())

    leave(output, work)


def leave(output: Output, work: Callable[[], ExitCode]) -> NoReturn:
    """Do the work and leave with its exit code; what goes wrong is told, not thrown."""
    try:
        code = work()
    except (CommandFailed, ServerRefused) as problem:
        code = output.fail(problem)
    except (KeyboardInterrupt, asyncio.CancelledError):
        code = ExitCode.INTERRUPTED
    raise typer.Exit(int(code))


def open_output(options: Options) -> Output:
    """The output in the wanted shape and language."""
    language = options.language or Language(preferred_language())
    return Output(json_only=options.json_only, language=language)


def open_client(options: Options, output: Output) -> ApiClient:
    """A client of the wanted server, with the credentials that are there for it.

    Raises:
        CommandFailed: the URL can't be used.
    """
    settings = get_settings()
    store = CredentialStore()
    url = server_url(settings, options.url, store)

    def told(bootstrap: Bootstrap) -> None:
        output.remark(BOOTSTRAPPED, url=url, username=bootstrap.username, file=bootstrap.file)

    sign_in = SignIn(
        url,
        store,
        api_key=settings.api_key.get_secret_value() if settings.api_key else None,
        bootstrap=find_bootstrap(settings, url),
        told=told,
    )
    return ApiClient(Transport(url, language=output.language), sign_in)


def server_url(settings: Settings, given: str | None, store: CredentialStore) -> str:
    """The server's base URL: as given, else by the settings, by a login, else this machine's own.

    Raises:
        CommandFailed: it is no URL.
    """
    wanted = (given or settings.url or store.server or own_url(settings)).strip()
    url = (wanted if "://" in wanted else f"http://{wanted}").rstrip("/")
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    if parsed.scheme not in {"http", "https"} or not parsed.host or " " in url:
        raise CommandFailed(InvalidRequest("url", wanted), BAD_URL, url=wanted)
    return url
