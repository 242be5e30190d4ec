"""``agentex eval``: evaluation of a knowledge base by its saved questions."""

from pathlib import Path
from typing import Annotated

import typer

from cli.client.api import ApiClient
from cli.client.schemas import JsonObject, Record
from cli.command import JsonOption, LanguageOption, Options, UrlOption, run
from cli.commands.ingest.local_files import CountedFile
from cli.commands.kb.manage import KnowledgeBaseArgument
from cli.errors import CommandFailed, ExitCode
from cli.ui.i18n import common as messages
from cli.ui.i18n.common import PATH_MISSING, Message
from cli.ui.output import Output
from cli.ui.progress import followed
from core.errors.requests import InvalidRequest

_FIGURES = {
    "recall_1": messages.EVAL_RECALL_1,
    "recall_5": messages.EVAL_RECALL_5,
    "recall_10": messages.EVAL_RECALL_10,
    "mrr_10": messages.EVAL_MRR,
    "ndcg_10": messages.EVAL_NDCG,
}
_TIMES = {"p50_ms": messages.EVAL_P50, "p95_ms": messages.EVAL_P95}
_LISTED = 20


class _MetricChange(Record):
    evaluation_id: str
    same_questions: bool
    figures: dict[str, float]


class _QuestionResult(Record):
    question: str
    rank: int | None


class _EvaluationRecord(Record):
    id: str
    metrics: dict[str, float]
    change: _MetricChange | None = None
    results: list[_QuestionResult]


class _MovedQuestion(Record):
    question: str
    rank: int | None
    rank_before: int | None


class _EvaluationComparison(Record):
    better: list[_MovedQuestion]
    worse: list[_MovedQuestion]
    change: dict[str, float]


def evaluate(
    knowledge_base: KnowledgeBaseArgument,
    questions: Annotated[
        Path | None,
        typer.Option(
            help="Save the questions of this file first: JSON Lines, or CSV where its name ends "
            "in .csv, with question, document and, if wanted, text."
        ),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="With --questions: remove the saved ones first.")] = False,
    compare: Annotated[
        bool, typer.Option("--compare", help="List the questions that moved since the last time.")
    ] = False,
    min_recall: Annotated[
        float | None, typer.Option(min=0, max=1, help="Exit with 1 where the recall at 5 is lower.")
    ] = None,
    url: UrlOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Ask the saved questions of a knowledge base and measure what is found."""

    async def body(output: Output, client: ApiClient) -> ExitCode:
        base = await client.find_knowledge_base(knowledge_base)
        if questions is not None:
            await _save(output, client, (base.id, questions), replace=replace)
        measured = await _measure(output, client, base.id)
        compared = await _compare(client, base.id, measured) if compare else None
        _show(output, measured, compared)
        output.emit(_to_json(measured, compared))
        recall = measured.metrics["recall_5"]
        if min_recall is not None and recall < min_recall:
            output.remark(messages.EVAL_TOO_LOW, recall=f"{recall:.3f}", wanted=f"{min_recall:.3f}")
            return ExitCode.FAILED
        return ExitCode.OK

    run(Options(json_only, language, url), body)


async def _save(output: Output, client: ApiClient, target: tuple[str, Path], *, replace: bool) -> None:
    kb_id, path = target
    if not path.is_file():
        raise CommandFailed(InvalidRequest("questions", str(path)), PATH_MISSING, path=str(path))
    where = f"/api/v1/knowledge-bases/{kb_id}/questions/import?replace={str(replace).lower()}"
    with CountedFile(path, lambda _size: None) as file:
        answer = await client.send_file(where, file, path.name, {})
    counts = answer if isinstance(answer, dict) else {}
    output.remark(messages.EVAL_SAVED, **{name: counts.get(name) for name in ("added", "extended")})


async def _measure(output: Output, client: ApiClient, kb_id: str) -> _EvaluationRecord:
    path = f"/api/v1/knowledge-bases/{kb_id}/evaluations"
    return client.read(_EvaluationRecord, await followed(output, client, path, {}))


async def _compare(client: ApiClient, kb_id: str, measured: _EvaluationRecord) -> _EvaluationComparison | None:
    if measured.change is None:
        return None
    path = f"/api/v1/knowledge-bases/{kb_id}/evaluations/{measured.id}/compare"
    query = {"with": measured.change.evaluation_id}
    return client.read(_EvaluationComparison, await client.call("GET", path, query=query))


def _show(output: Output, measured: _EvaluationRecord, compared: _EvaluationComparison | None) -> None:
    change = measured.change.figures if measured.change else {}
    rows = [
        (output.render(name), f"{measured.metrics[key]:.3f}", _signed(change.get(key), 3))
        for key, name in _FIGURES.items()
    ]
    rows += [
        (output.render(name), f"{measured.metrics[key]:.1f}", _signed(change.get(key), 1))
        for key, name in _TIMES.items()
    ]
    output.table((messages.EVAL_FIGURE, messages.EVAL_NOW, messages.EVAL_CHANGE), rows)
    if measured.change and not measured.change.same_questions:
        output.remark(messages.EVAL_OTHER_QUESTIONS)
    missed = [result.question for result in measured.results if result.rank is None]
    _list(output, messages.EVAL_MISSED, missed)
    if compared is not None:
        _list(output, messages.EVAL_WORSE, [_moved(output, question) for question in compared.worse])
        _list(output, messages.EVAL_BETTER, [_moved(output, question) for question in compared.better])


def _list(output: Output, heading: Message, lines: list[str]) -> None:
    if not lines:
        return
    output.say(heading, count=len(lines))
    for line in lines[:_LISTED]:
        output.print(f"  {line}")
    if len(lines) > _LISTED:
        output.print(f"  {output.render(messages.AND_MORE, count=len(lines) - _LISTED)}")


def _moved(output: Output, question: _MovedQuestion) -> str:
    before, now = (
        output.render(messages.EVAL_NO_RANK) if rank is None else str(rank)
        for rank in (question.rank_before, question.rank)
    )
    return f"{question.question}: {before} → {now}"


def _signed(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:+.{digits}f}"


def _to_json(measured: _EvaluationRecord, compared: _EvaluationComparison | None) -> JsonObject:
    comparison = {"comparison": compared.to_json()} if compared is not None else {}
    return {**measured.to_json(), **comparison}
