"""``agentex skill compare``: answers with and without a skill."""

from collections.abc import Iterator
from typing import Annotated

import typer
from pydantic import JsonValue

from cli.client.api import ApiClient
from cli.client.schemas import JsonObject, Record
from cli.command import client_command
from cli.commands.skills.manage import PATH, SkillArgument, find
from cli.commands.skills.trigger_test import QueriesArgument, read_queries
from cli.errors import CommandFailed, ExitCode
from cli.ui.i18n import skills as messages
from cli.ui.output import Output
from cli.ui.progress import followed
from core.errors.requests import InvalidRequest


class _AnswerPair(Record):
    query: str
    outcome: str
    reasons: list[str]


class _ComparisonRecord(Record):
    version: int
    against: int | None = None
    model: str
    judge: str
    outcomes: dict[str, int]
    pairs: list[_AnswerPair]


@client_command
async def compare_answers(
    output: Output,
    client: ApiClient,
    skill: SkillArgument,
    file: QueriesArgument,
    version: Annotated[int | None, typer.Option(min=1, help="An older version.")] = None,
    against: Annotated[int | None, typer.Option(min=1, help="The version to compare with; absent: no skill.")] = None,
    runs: Annotated[int, typer.Option(min=1, max=10, help="How often each is asked.")] = 1,
    model: Annotated[str | None, typer.Option(help="Id of the model that answers; your default if absent.")] = None,
    judge: Annotated[str | None, typer.Option(help="Id of the model that judges; the same if absent.")] = None,
) -> ExitCode:
    """Have a model answer with the skill and without it, and a model judge which is better.

    Asked are the requests of the file that should choose the skill.
    """
    queries = [query.query for query in read_queries(file) if query.should_trigger]
    if not queries:
        problem = InvalidRequest("queries", "none should choose the skill")
        raise CommandFailed(problem, messages.NO_QUERY_FOR_IT, path=file)
    row = await find(client, skill)
    options: JsonObject = {"version": version, "against": against, "model_id": model, "judge_model_id": judge}
    requests: list[JsonValue] = [*queries]
    body: JsonObject = {"queries": requests, "runs": runs}
    body |= {name: value for name, value in options.items() if value is not None}
    answer = await followed(output, client, f"{PATH}/{row.id}/comparison", body)
    _tell(output, row.name, client.read(_ComparisonRecord, answer))
    return ExitCode.OK


def _tell(output: Output, name: str, report: _ComparisonRecord) -> None:
    output.emit(report.to_json())
    output.table((messages.COMPARED_OUTCOME, messages.QUERY, messages.COMPARED_REASON), _rows(output, report))
    other = (
        output.render(messages.WITHOUT_SKILL)
        if report.against is None
        else output.render(messages.OTHER_VERSION, version=report.against)
    )
    output.say(messages.COMPARED, name=name, version=report.version, other=other, **report.outcomes)
    output.remark(messages.COMPARED_BY, model=report.model, judge=report.judge)


def _rows(output: Output, report: _ComparisonRecord) -> Iterator[tuple[str, str, str]]:
    for pair in report.pairs:
        word = messages.COMPARED_OUTCOMES.get(pair.outcome)
        outcome = output.render(word) if word else pair.outcome
        yield outcome, pair.query, next(iter(pair.reasons), "")
