"""What ``agentex admin models add`` and ``edit`` may say of a model, and where its key comes from."""

from dataclasses import dataclass
from typing import Annotated

import typer
from pydantic import JsonValue

from cli.arguments import read_json
from cli.client.api import ApiClient
from cli.client.schemas import JsonObject, Record
from cli.commands.admin.roles import find_role
from cli.commands.admin.users import find_user
from cli.errors import CommandFailed
from cli.ui.i18n import admin as messages
from cli.ui.output import Output
from cli.ui.prompts import ask_password, read_secret, usage
from core.errors.requests import InvalidRequest
from core.settings import read_variable

# What a model may also be without.
_CLEARED = ("base_url", "max_tokens", "temperature", "input_price", "output_price", "options")


@dataclass(frozen=True)
class ModelWishes:
    """The options that say what a model is like; None leaves a field as it is."""

    provider: Annotated[
        str | None, typer.Option(help="Such as openai, anthropic or openai-compatible.")
    ] = None
    model_id: Annotated[
        str | None, typer.Option("--model", help="Its name at the endpoint, such as gpt-4o.")
    ] = None
    base_url: Annotated[
        str | None, typer.Option(help="The endpoint, where it is not the provider's own.")
    ] = None
    max_tokens: Annotated[int | None, typer.Option(help="Longest answer, in tokens.")] = None
    temperature: Annotated[float | None, typer.Option(help="0 to 2.")] = None
    input_price: Annotated[float | None, typer.Option(help="Per million tokens in.")] = None
    output_price: Annotated[float | None, typer.Option(help="Per million tokens out.")] = None
    options: Annotated[
        str | None,
        typer.Option(help="Further options as a JSON object, as AGENTEX_LLM_OPTIONS takes them."),
    ] = None
    enabled: Annotated[
        bool | None, typer.Option("--enable/--disable", help="Whether anybody may use it.")
    ] = None
    is_default: Annotated[
        bool | None, typer.Option("--default/--no-default", help="Whether it answers by default.")
    ] = None
    role: Annotated[
        list[str] | None, typer.Option(help="Only for this role; may come many times.")
    ] = None
    user: Annotated[
        list[str] | None, typer.Option(help="Only for this person; may come many times.")
    ] = None
    everybody: Annotated[
        bool, typer.Option("--everybody", help="For everybody, whatever was said before.")
    ] = False
    clear: Annotated[
        list[str] | None,
        typer.Option(help=f"Take a value away: {', '.join(_CLEARED)}; may come many times."),
    ] = None


@dataclass(frozen=True)
class KeyWishes:
    """Where a model's key comes from: never from the command line, which others can read."""

    key_stdin: Annotated[
        bool, typer.Option("--key-stdin", help="Read its key from standard input.")
    ] = False
    key_env: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Take its key from this variable: OPENAI_API_KEY."),
    ] = None
    key_prompt: Annotated[
        bool, typer.Option("--key-prompt", help="Ask for its key at the terminal.")
    ] = False
    no_key: Annotated[bool, typer.Option("--no-key", help="It needs none, or none more.")] = False


class _Provider(Record):
    name: str
    needs_key: bool = False


class _Providers(Record):
    items: list[_Provider]


_SIMPLE = ("provider", "model_id", "base_url", "max_tokens", "temperature", "input_price",
           "output_price", "enabled", "is_default")  # fmt: skip


async def model_fields(client: ApiClient, wishes: ModelWishes) -> JsonObject:
    """The fields of a request that say what was wished.

    Raises:
        CommandFailed: a role or a person is not there, an option can't be read, or takes back
            what another one says.
    """
    _require_one_meaning(wishes)
    given: dict[str, JsonValue] = {name: getattr(wishes, name) for name in _SIMPLE}
    body: JsonObject = {name: value for name, value in given.items() if value is not None}
    if wishes.options is not None:
        body["options"] = _options(wishes.options)
    if wishes.role:
        body["role_access"] = [(await find_role(client, one)).id for one in wishes.role]
    if wishes.user:
        body["user_access"] = [(await find_user(client, one)).id for one in wishes.user]
    if wishes.everybody:
        body |= {"role_access": None, "user_access": None}
    body |= dict.fromkeys(wishes.clear or ())
    return body


def _require_one_meaning(wishes: ModelWishes) -> None:
    """Pass if no option takes back what another one says.

    Raises:
        CommandFailed: one does.
    """
    if wishes.everybody:
        _require_one(
            "--everybody", *(["--role"] * bool(wishes.role) + ["--user"] * bool(wishes.user))
        )
    for name in wishes.clear or ():
        if name not in _CLEARED:
            raise usage("clear", messages.CLEAR_UNKNOWN)
        if getattr(wishes, name) is not None:
            _require_one(f"--clear {name}", f"--{name.replace('_', '-')}")


def _require_one(*options: str) -> None:
    if len(options) > 1:
        named = ", ".join(options)
        raise CommandFailed(InvalidRequest("options", named), messages.CONTRADICTION, options=named)


def _options(text: str) -> JsonValue:
    try:
        return read_json(text)
    except ValueError:
        raise usage("options", messages.OPTIONS_UNREADABLE) from None


async def key_field(
    output: Output, client: ApiClient, keys: KeyWishes, new: JsonObject | None
) -> JsonObject:
    """The field of a request that carries the key; none where the key stays as it is.

    Args:
        output: asks for it.
        client: knows which providers need one.
        keys: where it comes from.
        new: the fields of a model to be, which may need one; None for a model that is there.

    Raises:
        CommandFailed: it is to come from several places, is not where it should be, or there is
            nobody to ask.
    """
    ways = {"--no-key": keys.no_key, "--key-stdin": keys.key_stdin,
            "--key-env": keys.key_env is not None, "--key-prompt": keys.key_prompt}  # fmt: skip
    _require_one(*(name for name, is_given in ways.items() if is_given))
    if keys.no_key:
        return {"api_key": None}
    if keys.key_stdin:
        return {"api_key": read_secret()}
    if keys.key_env is not None:
        key = read_variable(keys.key_env)
        if not key:
            raise usage("key_env", messages.KEY_NOT_SET)
        return {"api_key": key}
    if keys.key_prompt or (new is not None and await _needs_key(client, new.get("provider"))):
        return {"api_key": ask_password(output, messages.ASK_MODEL_KEY, messages.MODEL_KEY_NEEDED)}
    return {}


async def _needs_key(client: ApiClient, provider: JsonValue) -> bool:
    known = client.read(_Providers, await client.call("GET", "/api/v1/admin/model-providers"))
    return any(one.name == provider and one.needs_key for one in known.items)
