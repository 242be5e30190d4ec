"""A progress bar for a job of the server."""

from pydantic import JsonValue, TypeAdapter
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from cli.client.api import ApiClient
from cli.client.schemas import JsonObject
from cli.errors import CommandFailed, ServerRefused
from cli.ui.i18n import common as messages
from cli.ui.output import Output
from core.errors.server import ServerUnreachable
from core.sse import read_events

_JSON = TypeAdapter[JsonValue](JsonValue)


async def followed(output: Output, client: ApiClient, path: str, body: JsonObject) -> JsonValue:
    """Begin a server job and follow it to its result; an interruption ends the job."""
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), TaskProgressColumn())
    with Progress(*columns, console=output.remarks, transient=True, disable=not output.lively) as progress:
        task = progress.add_task(output.render(messages.FOLLOW_ASKING), total=None)
        async with client.stream("POST", path, body=body) as response:
            async for event in read_events(response.aiter_bytes()):
                value = _JSON.validate_json(event.data)
                match event.event, value:
                    case "progress", {"done": int(done), "total": int(total)}:
                        progress.update(task, completed=done, total=total)
                    case "error", {"code": int(code), "message": str(text)}:
                        raise ServerRefused(code, text, _details(value))
                    case "result", _:
                        return value
                    case _:
                        pass
    raise CommandFailed(ServerUnreachable(), messages.FOLLOW_CUT)


def _details(value: JsonValue) -> dict[str, JsonValue]:
    details = value.get("details") if isinstance(value, dict) else None
    return details if isinstance(details, dict) else {}
