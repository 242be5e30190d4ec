"""Files of requests by which skills are tried out."""

import json
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel, TypeAdapter, ValidationError

from cli.errors import CommandFailed
from cli.ui.i18n import skills as messages
from cli.ui.i18n.common import PATH_MISSING
from core.errors import InvalidRequest

QueriesArgument = Annotated[
    Path,
    typer.Argument(
        metavar="QUERIES",
        help='JSON: a list of {"query": ..., "should_trigger": true or false}.',
    ),
]


class TriggerQuery(BaseModel):
    """A request, and whether it should choose the skill."""

    query: str
    should_trigger: bool


_FILE = TypeAdapter[list[TriggerQuery] | dict[str, list[TriggerQuery]]](
    list[TriggerQuery] | dict[str, list[TriggerQuery]]
)


def read_queries(file: Path) -> list[TriggerQuery]:
    """The requests of a file.

    Raises:
        CommandFailed: there is none, or nothing of that kind.
    """
    try:
        read = _FILE.validate_python(json.loads(file.read_text("utf-8")))
    except FileNotFoundError as error:
        problem = InvalidRequest("queries", str(file))
        raise CommandFailed(problem, PATH_MISSING, path=str(file)) from error
    except OSError as error:
        problem = InvalidRequest("queries", "not readable")
        reason = error.strerror or ""
        raise CommandFailed(problem, messages.FILE_UNREADABLE, path=file, reason=reason) from error
    except (ValueError, ValidationError, RecursionError) as error:
        problem = InvalidRequest("queries", "no list of queries")
        raise CommandFailed(problem, messages.NO_QUERIES, path=file) from error
    # By language, as the starters have them.
    return read if isinstance(read, list) else [one for part in read.values() for one in part]
