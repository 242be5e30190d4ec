"""The frame of client commands: common options, groups, and exit codes."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Annotated, Any, Concatenate, NoReturn, ParamSpec

import httpx
import typer

from cli.client.api import ApiClient
from cli.client.auth import Bootstrap, SignIn, find_bootstrap, own_url
from cli.client.credentials import CredentialStore
from cli.client.transport import Transport
from cli.errors import CommandFailed, ExitCode, ServerRefused
from cli.ui.i18n.common import BAD_URL, BOOTSTRAPPED, UNSENDABLE, Language
from cli.ui.output import Output
from core.errors.requests import InvalidRequest
from core.settings import Settings, get_settings, preferred_language

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")]
LanguageOption = Annotated[Language | None, typer.Option("--lang", help="Language of the messages; by default LANG's.")]
UrlOption = Annotated[
    str | None,
    typer.Option(
        "--url", help="The server; by default AGENTEX_URL, the last login's, or this machine's own.", metavar="URL"
    ),
]


@dataclass(frozen=True)
class Options:
    """The common options of client commands."""

    json_only: JsonOption = False
    language: LanguageOption = None
    url: UrlOption = None


P = ParamSpec("P")
Body = Callable[[Output, ApiClient], Awaitable[ExitCode]]
CommandBody = Callable[Concatenate[Output, ApiClient, P], Awaitable[ExitCode]]


def command_group(help_text: str, commands: Mapping[str, Callable[..., None] | typer.Typer]) -> typer.Typer:
    """A group of commands and groups, under the names and in the order that ``--help`` shows."""
    group = typer.Typer(no_args_is_help=True, help=help_text)
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            group.add_typer(command, name=name)
        else:
            group.command(name)(command)
    return group


def client_command(body: CommandBody[P]) -> Callable[..., None]:
    """Turn a function into a command with the common :class:`Options` added.

    A dataclass parameter is expanded into its fields, so that commands can share them.
    """
    own = [*inspect.signature(body).parameters.values()][2:]

    def command(**values: object) -> None:
        arguments = {parameter.name: _collect(parameter.annotation, parameter.name, values) for parameter in own}
        bound: Any = body
        run(_collect(Options, "", values), lambda output, client: bound(output, client, **arguments))

    common = inspect.Parameter("common", _NAMED, annotation=Options)
    spread = [field for parameter in (*own, common) for field in _spread(parameter)]
    # Typer reads the parameters from here.
    vars(command)["__signature__"] = inspect.Signature(spread)
    command.__doc__ = inspect.getdoc(body)
    return command


_NAMED = inspect.Parameter.KEYWORD_ONLY


def _spread(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """The parameter, or the fields of its dataclass."""
    kind: Any = parameter.annotation
    if not is_dataclass(kind):
        yield parameter.replace(kind=_NAMED)
        return
    for field in fields(kind):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        yield inspect.Parameter(field.name, _NAMED, default=default, annotation=field.type)


def _collect(kind: Any, name: str, values: dict[str, object]) -> Any:  # noqa: ANN401 - as Typer gives it
    """A parameter's value, reassembled if it is a dataclass."""
    if not is_dataclass(kind):
        return values[name]
    make: Any = kind
    return make(**{field.name: values[field.name] for field in fields(kind)})


def run(options: Options, body: Body) -> NoReturn:
    """Run a command against the server and exit with its code."""
    output = open_output(options)

    def work() -> ExitCode:
        async def connected() -> ExitCode:
            async with open_client(options, output) as client:
                return await body(output, client)

        return asyncio.run(connected())

    leave(output, work)


def leave(output: Output, work: Callable[[], ExitCode]) -> NoReturn:
    """Do the work and exit with its code; a failure is printed, not raised."""
    try:
        code = work()
    except (CommandFailed, ServerRefused) as problem:
        code = output.fail(problem)
    except UnicodeEncodeError:
        # Bytes of another encoding on the command line.
        problem = CommandFailed(InvalidRequest("arguments", "no UTF-8"), UNSENDABLE)
        code = output.fail(problem)
    except (KeyboardInterrupt, asyncio.CancelledError):
        code = ExitCode.INTERRUPTED
    raise typer.Exit(int(code))


def open_output(options: Options) -> Output:
    """The output in the shape and language of the options."""
    language = options.language or Language(preferred_language())
    return Output(json_only=options.json_only, language=language)


def open_client(options: Options, output: Output) -> ApiClient:
    """A client of the server, with the stored credentials."""
    settings = get_settings()
    store = CredentialStore()
    url = server_url(settings, options.url, store)

    def report_bootstrap(bootstrap: Bootstrap) -> None:
        output.remark(BOOTSTRAPPED, url=url, username=bootstrap.username, file=bootstrap.file)

    sign_in = SignIn(
        url,
        store,
        api_key=settings.api_key.get_secret_value() if settings.api_key else None,
        bootstrap=find_bootstrap(settings, url),
        on_bootstrap=report_bootstrap,
    )
    return ApiClient(Transport(url, language=output.language), sign_in)


def server_url(settings: Settings, option: str | None, store: CredentialStore) -> str:
    """The server's base URL: of the option, the settings, a login, or this machine's own, in this order."""
    address = (option or settings.url or store.server or own_url(settings)).strip()
    url = (address if "://" in address else f"http://{address}").rstrip("/")
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    if parsed.scheme not in {"http", "https"} or not parsed.host or " " in url:
        raise CommandFailed(InvalidRequest("url", address), BAD_URL, url=address)
    return url
