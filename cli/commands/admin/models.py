"""``agentex admin models``: the registry of language models and their usage."""

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote

import typer
from pydantic import JsonValue

from cli.arguments import read_json
from cli.client.api import ApiClient
from cli.client.schemas import JsonObject, Record
from cli.command import client_command, command_group
from cli.commands.admin.roles import find_role
from cli.commands.admin.users import find_user
from cli.errors import CommandFailed, ExitCode
from cli.ui.i18n import admin as messages
from cli.ui.i18n import common
from cli.ui.i18n.common import Language, Message
from cli.ui.output import Output
from cli.ui.prompts import DeletionPrompt, YesOption, ask_password, delete_with_prompt, read_secret, usage_error
from core.errors.auth import ModelNotFound
from core.errors.requests import InvalidRequest
from core.settings import read_variable

# Optional fields of a model.
_CLEARED = ("base_url", "max_tokens", "temperature", "input_price", "output_price", "options")


@dataclass(frozen=True)
class ModelOptions:
    """The options that describe a model; None leaves a field unchanged."""

    provider: Annotated[str | None, typer.Option(help="Such as openai, anthropic or openai-compatible.")] = None
    model_id: Annotated[str | None, typer.Option("--model", help="Its name at the endpoint, such as gpt-4o.")] = None
    base_url: Annotated[str | None, typer.Option(help="The endpoint, where it is not the provider's own.")] = None
    max_tokens: Annotated[int | None, typer.Option(help="Longest answer, in tokens.")] = None
    temperature: Annotated[float | None, typer.Option(help="0 to 2.")] = None
    input_price: Annotated[float | None, typer.Option(help="Per million tokens in.")] = None
    output_price: Annotated[float | None, typer.Option(help="Per million tokens out.")] = None
    options: Annotated[
        str | None, typer.Option(help="Further options as a JSON object, as AGENTEX_LLM_OPTIONS takes them.")
    ] = None
    enabled: Annotated[bool | None, typer.Option("--enable/--disable", help="Whether anybody may use it.")] = None
    is_default: Annotated[
        bool | None, typer.Option("--default/--no-default", help="Whether it answers by default.")
    ] = None
    role: Annotated[list[str] | None, typer.Option(help="Only for this role; may come many times.")] = None
    user: Annotated[list[str] | None, typer.Option(help="Only for this person; may come many times.")] = None
    everybody: Annotated[bool, typer.Option("--everybody", help="For everybody, whatever was said before.")] = False
    clear: Annotated[
        list[str] | None, typer.Option(help=f"Take a value away: {', '.join(_CLEARED)}; may come many times.")
    ] = None


@dataclass(frozen=True)
class KeyOptions:
    """Sources of a model's key: never the command line, which other users can read."""

    key_stdin: Annotated[bool, typer.Option("--key-stdin", help="Read its key from standard input.")] = False
    key_env: Annotated[
        str | None, typer.Option(metavar="NAME", help="Take its key from this variable: OPENAI_API_KEY.")
    ] = None
    key_prompt: Annotated[bool, typer.Option("--key-prompt", help="Ask for its key at the terminal.")] = False
    no_key: Annotated[bool, typer.Option("--no-key", help="It needs none, or none more.")] = False


class _ProviderRecord(Record):
    name: str
    needs_key: bool = False


class _ProviderList(Record):
    items: list[_ProviderRecord]


_SIMPLE = ("provider", "model_id", "base_url", "max_tokens", "temperature", "input_price",
           "output_price", "enabled", "is_default")  # fmt: skip


async def model_fields(client: ApiClient, wishes: ModelOptions) -> JsonObject:
    """The request fields for these options."""
    _require_one_meaning(wishes)
    fields: dict[str, JsonValue] = {name: getattr(wishes, name) for name in _SIMPLE}
    body: JsonObject = {name: value for name, value in fields.items() if value is not None}
    if wishes.options is not None:
        body["options"] = _options(wishes.options)
    if wishes.role:
        body["role_access"] = [(await find_role(client, name)).id for name in wishes.role]
    if wishes.user:
        body["user_access"] = [(await find_user(client, name)).id for name in wishes.user]
    if wishes.everybody:
        body |= {"role_access": None, "user_access": None}
    body |= dict.fromkeys(wishes.clear or ())
    return body


def _require_one_meaning(wishes: ModelOptions) -> None:
    """Refuse options that contradict each other."""
    if wishes.everybody:
        _require_one("--everybody", *(["--role"] * bool(wishes.role) + ["--user"] * bool(wishes.user)))
    for name in wishes.clear or ():
        if name not in _CLEARED:
            raise usage_error("clear", messages.CLEAR_UNKNOWN)
        if getattr(wishes, name) is not None:
            _require_one(f"--clear {name}", f"--{name.replace('_', '-')}")


def _require_one(*options: str) -> None:
    if len(options) > 1:
        names = ", ".join(options)
        raise CommandFailed(InvalidRequest("options", names), messages.CONTRADICTION, options=names)


def _options(text: str) -> JsonValue:
    try:
        return read_json(text)
    except ValueError:
        raise usage_error("options", messages.OPTIONS_UNREADABLE) from None


async def key_field(output: Output, client: ApiClient, keys: KeyOptions, new: JsonObject | None) -> JsonObject:
    """The request field with the key; empty if the key stays unchanged.

    ``new`` are the fields of a new model, which may need a key; None for an existing model.
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
            raise usage_error("key_env", messages.KEY_NOT_SET)
        return {"api_key": key}
    if keys.key_prompt or (new is not None and await _needs_key(client, new.get("provider"))):
        return {"api_key": ask_password(output, messages.ASK_MODEL_KEY, messages.MODEL_KEY_NEEDED)}
    return {}


async def _needs_key(client: ApiClient, provider: JsonValue) -> bool:
    providers = client.read(_ProviderList, await client.call("GET", "/api/v1/admin/model-providers"))
    return any(entry.name == provider and entry.needs_key for entry in providers.items)


ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="Its name or its id.")]
_PATH = "/api/v1/admin/models"


class _ModelRecord(Record):
    id: str
    name: str
    provider: str
    model_id: str
    base_url: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    context_window: int | None = None
    input_price: float | None = None
    output_price: float | None = None
    is_default: bool = False
    enabled: bool = True
    has_secret: bool = False
    role_access: list[str] | None = None
    user_access: list[str] | None = None


class _ModelList(Record):
    items: list[_ModelRecord]


class _ModelTestRecord(Record):
    success: bool
    latency: int
    message: str
    message_zh: str = ""


class _UsageRow(Record):
    day: str
    username: str | None = None
    user_id: str = ""
    name: str | None = None
    model: str = ""
    runs: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None = None


class _UsageTotals(Record):
    runs: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None = None


class _UsageRecord(Record):
    items: list[_UsageRow]
    total: int
    since: str
    until: str
    totals: _UsageTotals


async def _all(client: ApiClient) -> _ModelList:
    return client.read(_ModelList, await client.call("GET", _PATH))


async def _find(client: ApiClient, name: str) -> _ModelRecord:
    """The registered model with this id, or this name in any case."""
    models = (await _all(client)).items
    key = name.strip().casefold()
    # Ids first: a name may look like one.
    fitting = [model for model in models if model.id == key]
    fitting += [model for model in models if model.name.casefold() == key]
    if fitting:
        return fitting[0]
    names = ", ".join(model.name for model in models) or "-"
    raise CommandFailed(ModelNotFound(), messages.MODEL_UNKNOWN, wanted=name, names=names)


@client_command
async def list_models(output: Output, client: ApiClient) -> ExitCode:
    """List the registered models, those that are switched off included."""
    models = await _all(client)
    output.emit(models.to_json())
    columns = (messages.MODEL, messages.PROVIDER, messages.AT_ENDPOINT, messages.DEFAULT,
               messages.ENABLED, messages.HAS_KEY, messages.ID)  # fmt: skip
    output.table(columns, [_row(output, model) for model in models.items])
    return ExitCode.OK


def _row(output: Output, model: _ModelRecord) -> tuple[str, ...]:
    marks = (model.is_default, model.enabled, model.has_secret)
    columns = (_yes(output, mark) for mark in marks)
    return (model.name, model.provider, model.model_id, *columns, model.id)


def _yes(output: Output, value: bool) -> str:
    return output.render(common.YES if value else common.NO)


@client_command
async def show(output: Output, client: ApiClient, model: ModelArgument) -> ExitCode:
    """Show one model with its settings; its key is never shown."""
    row = await _find(client, model)
    output.emit(row.to_json())
    output.facts(
        (
            (messages.MODEL, row.name),
            (messages.ID, row.id),
            (messages.PROVIDER, row.provider),
            (messages.AT_ENDPOINT, row.model_id),
            (messages.BASE_URL, row.base_url or "-"),
            (messages.HAS_KEY, _yes(output, row.has_secret)),
            (messages.DEFAULT, _yes(output, row.is_default)),
            (messages.ENABLED, _yes(output, row.enabled)),
            (messages.MAX_TOKENS, _number(row.max_tokens)),
            (messages.TEMPERATURE, _number(row.temperature)),
            (messages.WINDOW, _number(row.context_window)),
            (messages.PRICES, f"{_number(row.input_price)} / {_number(row.output_price)}"),
            (messages.FOR_ROLES, _listed(output, row.role_access, row.user_access)),
            (messages.FOR_USERS, _listed(output, row.user_access, row.role_access)),
        )
    )
    return ExitCode.OK


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.10g}"


def _listed(output: Output, ids: list[str] | None, others: list[str] | None) -> str:
    if ids is None and others is None:
        return output.render(messages.EVERYBODY)
    return ", ".join(ids or ()) or "-"


@client_command
async def add(
    output: Output,
    client: ApiClient,
    name: Annotated[str, typer.Argument(help="The name that people choose it by.")],
    wishes: ModelOptions,
    keys: KeyOptions,
) -> ExitCode:
    """Register a model; its key is asked for, or read as the --key options say."""
    body = {"name": name, **await model_fields(client, wishes)}
    body |= await key_field(output, client, keys, body)
    return await _save(output, client, ("POST", _PATH), body, messages.MODEL_ADDED)


@client_command
async def edit(
    output: Output,
    client: ApiClient,
    model: ModelArgument,
    wishes: ModelOptions,
    keys: KeyOptions,
    name: Annotated[str | None, typer.Option(help="Another name.")] = None,
) -> ExitCode:
    """Change a model; what is left out stays."""
    row = await _find(client, model)
    body = await model_fields(client, wishes)
    body |= await key_field(output, client, keys, None)
    if name is not None:
        body["name"] = name
    return await _save(output, client, ("PUT", f"{_PATH}/{row.id}"), body, messages.MODEL_CHANGED)


@client_command
async def default(output: Output, client: ApiClient, model: ModelArgument) -> ExitCode:
    """Let a model answer where neither run nor session names one."""
    row = await _find(client, model)
    where = ("PUT", f"{_PATH}/{row.id}")
    return await _save(output, client, where, {"is_default": True}, messages.MODEL_DEFAULT)


async def _save(
    output: Output, client: ApiClient, where: tuple[str, str], body: JsonObject, message: Message
) -> ExitCode:
    saved = client.read(_ModelRecord, await client.call(*where, body=body))
    output.say(message, name=saved.name)
    output.emit(saved.to_json())
    return ExitCode.OK


@client_command
async def test(output: Output, client: ApiClient, model: ModelArgument) -> ExitCode:
    """Ask a model for its first word; exit code 1 where it does not answer."""
    row = await _find(client, model)
    path = f"/api/v1/models/{quote(row.id, safe='')}/test"
    came = client.read(_ModelTestRecord, await client.call("POST", path))
    output.emit(came.to_json())
    if came.success:
        output.say(messages.MODEL_ANSWERS, name=row.name, latency=came.latency)
        return ExitCode.OK
    is_chinese = output.language is Language.ZH and came.message_zh
    output.print(f"{row.name}: {came.message_zh if is_chinese else came.message}", "red")
    return ExitCode.FAILED


@client_command
async def delete(output: Output, client: ApiClient, model: ModelArgument, yes: YesOption = False) -> ExitCode:
    """Remove a model from the registry; runs that are under way on it go on."""
    row = await _find(client, model)
    words = (messages.MODEL_CONFIRM, messages.MODEL_DELETED)
    thing = DeletionPrompt(_PATH, row.id, row.name)
    return await delete_with_prompt(output, client, thing, yes, words=words)


@client_command
async def usage(
    output: Output,
    client: ApiClient,
    user: Annotated[str | None, typer.Option(help="Only this person's.")] = None,
    since: Annotated[str, typer.Option(help="First day, such as 2026-11-01.")] = "",
    until: Annotated[str, typer.Option(help="Last day.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=100, help="Rows to show.")] = 50,
) -> ExitCode:
    """Show what was spent on models, by day, person and model; by default of the last 30 days."""
    query: dict[str, str | int] = {"scope": "all", "page_size": limit}
    query |= {name: day for name, day in (("since", since), ("until", until)) if day}
    if user is not None:
        query["user_id"] = (await find_user(client, user)).id
    spent = client.read(_UsageRecord, await client.call("GET", "/api/v1/models/usage", query=query))
    output.emit(spent.to_json())
    columns = (messages.DAY, messages.USERNAME, messages.MODEL, messages.RUNS,
               messages.TOKENS_IN, messages.TOKENS_OUT, messages.COST)  # fmt: skip
    output.table(columns, [_spent(row) for row in spent.items])
    sums = spent.totals
    output.remark(
        messages.USAGE_SUMS,
        since=spent.since,
        until=spent.until,
        runs=sums.runs,
        tokens=sums.prompt_tokens + sums.completion_tokens,
        cost=_number(sums.cost),
        shown=len(spent.items),
        total=spent.total,
    )
    return ExitCode.OK


def _spent(row: _UsageRow) -> tuple[str, ...]:
    figures = (row.runs, row.prompt_tokens, row.completion_tokens)
    columns = (str(figure) for figure in figures)
    return (row.day, row.username or row.user_id, row.name or row.model, *columns, _number(row.cost))


app = command_group(
    "Language models: the registry, tests and usage.",
    {
        "list": list_models,
        "show": show,
        "add": add,
        "edit": edit,
        "default": default,
        "test": test,
        "delete": delete,
        "usage": usage,
    },
)
