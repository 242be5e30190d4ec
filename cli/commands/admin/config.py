"""``agentex admin config``: settings that change at run time."""

import json
from typing import Annotated
from urllib.parse import quote

import typer
from pydantic import JsonValue

from cli.arguments import read_json
from cli.client.api import ApiClient
from cli.client.schemas import Record
from cli.command import client_command, command_group
from cli.errors import ExitCode
from cli.ui.i18n import admin as messages
from cli.ui.output import Output

_PATH = "/api/v1/admin/system/config"
KeyArgument = Annotated[str, typer.Argument(metavar="KEY", help="As `list` shows it.")]


class _SettingRecord(Record):
    key: str
    value: JsonValue
    description: str = ""
    minimum: int | None = None
    maximum: int | None = None
    source: str = ""
    variable: str = ""


class _SettingList(Record):
    items: list[_SettingRecord]


@client_command
async def list_config(output: Output, client: ApiClient) -> ExitCode:
    """List these settings with their values and what they mean."""
    settings = client.read(_SettingList, await client.call("GET", _PATH))
    output.emit(settings.to_json())
    columns = (messages.KEY, messages.VALUE, messages.SOURCE, messages.MEANING)
    output.table(columns, [_row(output, setting) for setting in settings.items])
    return ExitCode.OK


@client_command
async def set_config(
    output: Output,
    client: ApiClient,
    key: KeyArgument,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="A number, true or false, or host:port with commas.")],
) -> ExitCode:
    """Give a setting another value, at once and in all processes."""
    body = {"value": _parsed(value)}
    answer = await client.call("PUT", f"{_PATH}/{quote(key, safe='')}", body=body)
    return _show(output, client.read(_SettingRecord, answer))


@client_command
async def reset_config(output: Output, client: ApiClient, key: KeyArgument) -> ExitCode:
    """Go back to the value of the environment, or to the default."""
    answer = await client.call("DELETE", f"{_PATH}/{quote(key, safe='')}")
    return _show(output, client.read(_SettingRecord, answer))


def _show(output: Output, setting: _SettingRecord) -> ExitCode:
    output.say(messages.CONFIG_SET, key=setting.key, value=_format(setting.value))
    output.emit(setting.to_json())
    return ExitCode.OK


def _row(output: Output, setting: _SettingRecord) -> tuple[str, ...]:
    message = messages.SOURCES.get(setting.source)
    source = output.render(message) if message else setting.source
    return setting.key, _format(setting.value), source, setting.description


def _format(value: JsonValue) -> str:
    return "-" if value is None else json.dumps(value, ensure_ascii=False)


def _parsed(value: str) -> JsonValue:
    """The value as JSON; other text is sent as it is, for the server to judge."""
    try:
        return read_json(value)
    except ValueError:
        return value


app = command_group(
    "Settings that change while the server runs.", {"list": list_config, "set": set_config, "reset": reset_config}
)
