"""``agentex skill test``: which queries choose a skill."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

from cli.client.api import ApiClient
from cli.client.schemas import JsonObject, Record
from cli.command import client_command
from cli.commands.skills.manage import PATH, SkillArgument, find
from cli.errors import CommandFailed, ExitCode
from cli.ui.i18n import skills as messages
from cli.ui.i18n.common import PATH_MISSING
from cli.ui.output import Output
from cli.ui.progress import followed
from core.errors.requests import InvalidRequest

QueriesArgument = Annotated[
    Path, typer.Argument(metavar="QUERIES", help='JSON: a list of {"query": ..., "should_trigger": true or false}.')
]


class TriggerQueryRecord(BaseModel):
    """A request, and whether it should choose the skill."""

    query: str
    should_trigger: bool


_FILE = TypeAdapter[list[TriggerQueryRecord] | dict[str, list[TriggerQueryRecord]]](
    list[TriggerQueryRecord] | dict[str, list[TriggerQueryRecord]]
)


def read_queries(file: Path) -> list[TriggerQueryRecord]:
    """The requests of a file."""
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
    return read if isinstance(read, list) else [query for part in read.values() for query in part]


class _QueryResult(Record):
    query: str
    should_trigger: bool
    triggered: bool
    score: float
    chosen: str | None = None


class _TriggerRates(Record):
    queries: int
    recall: float | None = None
    precision: float | None = None


class _TriggerTestRecord(Record):
    version: int
    model: str | None = None
    runs: int = 1
    neighbours: int
    all: _TriggerRates
    answers: list[_QueryResult]


@client_command
async def try_triggers(
    output: Output,
    client: ApiClient,
    skill: SkillArgument,
    file: QueriesArgument,
    version: Annotated[int | None, typer.Option(min=1, help="An older version.")] = None,
    runs: Annotated[int | None, typer.Option(min=1, max=10, help="How often a model is asked each; 3.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Ask no language model, which costs nothing.")] = False,
    model: Annotated[str | None, typer.Option(help="Id of the model to ask; your default if absent.")] = None,
    least: Annotated[
        float | None, typer.Option(min=0, max=1, help="Exit code 1 where recall or precision is less.")
    ] = None,
) -> ExitCode:
    """Ask which requests would choose a skill among all those that your agents may use."""
    if offline and model:
        raise CommandFailed(InvalidRequest("model", "with --offline"), messages.OFFLINE_OR_MODEL)
    if offline and runs:
        raise CommandFailed(InvalidRequest("runs", "with --offline"), messages.OFFLINE_OR_RUNS)
    queries = read_queries(file)
    row = await find(client, skill)
    entries: list[JsonValue] = [query.model_dump() for query in queries]
    options = {"version": version, "runs": runs, "model_id": model}
    body: JsonObject = {"queries": entries, "by": "offline" if offline else "auto"}
    body |= {name: value for name, value in options.items() if value is not None}
    answer = await followed(output, client, f"{PATH}/{row.id}/trigger-test", body)
    report = client.read(_TriggerTestRecord, answer)
    _tell(output, row.name, report)
    rates = report.all
    measured = [rate for rate in (rates.recall, rates.precision) if rate is not None]
    is_enough = least is None or (bool(measured) and min(measured) >= least)
    return ExitCode.OK if is_enough else ExitCode.FAILED


def _tell(output: Output, name: str, report: _TriggerTestRecord) -> None:
    output.emit(report.to_json())
    output.table((messages.RIGHT, messages.SCORE, messages.CHOSEN, messages.QUERY), _rows(output, report))
    rates = report.all
    output.say(
        messages.TRIGGERS,
        name=name,
        version=report.version,
        recall=_percent(rates.recall),
        precision=_percent(rates.precision),
        queries=rates.queries,
        neighbours=report.neighbours,
    )
    if report.model is None:
        output.remark(messages.TRIED_OFFLINE)
    else:
        output.remark(messages.TRIED_BY, model=report.model, runs=report.runs)


def _rows(output: Output, report: _TriggerTestRecord) -> Iterator[tuple[str, str, str, str]]:
    for result in report.answers:
        is_right = result.triggered == result.should_trigger
        word = output.render(messages.IS_RIGHT if is_right else messages.IS_WRONG)
        yield word, f"{result.score:.2f}", result.chosen or "-", result.query


def _percent(rate: float | None) -> str:
    return "-" if rate is None else f"{100 * rate:.0f} %"
