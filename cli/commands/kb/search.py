"""``agentex search``: results of a search, and reasons for absences."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer
from pydantic import JsonValue
from rich.text import Text

from cli.client.api import ApiClient
from cli.client.schemas import HitRecord, JsonObject, ReasonRecord, SearchRecord
from cli.command import JsonOption, LanguageOption, Options, UrlOption, run
from cli.errors import CommandFailed, ExitCode
from cli.ui.i18n import common as messages
from cli.ui.i18n import kb
from cli.ui.i18n.kb import FILTER_UNREADABLE
from cli.ui.output import Output, printable
from core.errors.requests import InvalidRequest

_LEGS = ("dense", "sparse")

KnowledgeBasesOption = Annotated[
    list[str] | None,
    typer.Option("--kb", metavar="NAME|ID", help="Where to search; may be given often. Default: everywhere."),
]


FilterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="team=ops|year>=2020|type:pdf|name:guide*",
        help="Only documents that meet this; may be given often.",
    ),
]
WhyOption = Annotated[
    str | None,
    typer.Option(
        "--why", metavar="CHUNK|WORDS", help="Why a passage is not found: its id, or words of it with --document."
    ),
]


def search(
    query: Annotated[str, typer.Argument(help="A question or keywords.")],
    knowledge_bases: KnowledgeBasesOption = None,
    top_k: Annotated[int | None, typer.Option(min=1, help="How many passages at most. Default: 5.")] = None,
    threshold: Annotated[float | None, typer.Option(min=0, max=1, help="Least score of a passage.")] = None,
    filters: FilterOption = None,
    neighbours: Annotated[
        int | None, typer.Option(min=0, max=5, help="Chunks shown on each side of a passage.")
    ] = None,
    section: Annotated[bool, typer.Option("--section", help="Show the rest of each passage's section.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each passage got its score.")] = False,
    why: WhyOption = None,
    document: Annotated[str | None, typer.Option("--document", metavar="ID", help="For --why with words.")] = None,
    url: UrlOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Search and show the passages found, best first."""
    expand = "section" if section else None
    wish = _without_none(query=query, top_k=top_k, score_threshold=threshold)
    wish |= _without_none(neighbours=neighbours, expand=expand, explain=explain or None)

    target: JsonObject | None = None
    if why is not None:
        target = {"document_id": document, "text": why} if document else {"chunk_id": why}

    async def body(output: Output, client: ApiClient) -> ExitCode:
        if filters:
            wish["filters"] = read_filters(filters)
        bases = await find_ids(client, knowledge_bases)
        if target is not None:
            return await _explain_absence(output, client, bases, {**wish, **target})
        answer = await client.search(bases, wish)
        output.emit(answer.to_json())
        _show_answer(output, answer)
        return ExitCode.OK

    run(Options(json_only, language, url), body)


def _without_none(**choices: JsonValue) -> JsonObject:
    """The options that were set; the server has defaults for the others."""
    return {name: value for name, value in choices.items() if value is not None}


async def _explain_absence(output: Output, client: ApiClient, bases: list[str], wish: JsonObject) -> ExitCode:
    if len(bases) != 1:
        raise CommandFailed(InvalidRequest("kb", "one is needed"), kb.WHY_ONE_BASE)
    answer = await client.why(bases[0], wish)
    output.emit(answer.to_json())
    output.print(_words(output, answer.reason), "bold")
    if answer.place is not None and answer.score is not None:
        output.say(
            kb.WHY_PLACE, place=answer.place, score=_short(answer.score), lowest=_short(answer.lowest_score_shown)
        )
    if not answer.dense_used:
        output.say(kb.LEG_UNUSED)
    for leg, position in zip(_LEGS, (answer.dense, answer.sparse), strict=True):
        if position is None:
            if leg == "sparse" or answer.dense_used:
                output.say(messages.LEG_NONE, leg=leg)
            continue
        text = kb.LEG_DEEP if position.rank is None else messages.LEG
        output.say(text, leg=leg, rank=position.rank, score=_short(position.score))
    return ExitCode.OK


def _show_answer(output: Output, answer: SearchRecord) -> None:
    for number, hit in enumerate(answer.results, start=1):
        _show(output, number, hit)
    for warning in answer.warnings:
        output.print(_words(output, warning), "yellow")
    if answer.explain is not None and answer.explain.dropped:
        counts = Counter(_words(output, dropped.reason) for dropped in answer.explain.dropped)
        reasons = "; ".join(f"{reason}: {count}" for reason, count in counts.items())
        output.say(kb.DROPPED, reasons=reasons)
    if not answer.results:
        output.say(messages.NO_RESULTS)
    elif answer.took_ms is not None:
        output.hint(messages.TOOK, count=len(answer.results), ms=round(answer.took_ms, 1))


def _words(output: Output, reason: ReasonRecord) -> str:
    return printable(reason.message_zh if output.language == "zh" else reason.message)


async def find_ids(client: ApiClient, names: list[str] | None) -> list[str]:
    """The ids of the named knowledge bases."""
    return [(await client.find_knowledge_base(dropped)).id for dropped in names or ()]


def place(output: Output, name: str, page: int | None, heading_path: list[str]) -> str:
    """A passage's place as text: document, page, headings."""
    parts = [name]
    if page is not None:
        parts.append(output.render(messages.PAGE, page=page))
    if heading_path:
        parts.append(" > ".join(heading_path))
    return printable(" · ".join(parts))


def _show(output: Output, number: int, hit: HitRecord) -> None:
    where = place(output, hit.document_name, hit.page, hit.heading_path)
    line = Text.assemble((f"{number}. ", "bold"), (where, "bold cyan"), f"  {hit.score:.3f}")
    output.print(line)
    for part, style in (
        *((beside.content, "dim") for beside in hit.before),
        (hit.content, ""),
        *((beside.content, "dim") for beside in hit.after),
    ):
        for text in part.strip().splitlines():
            output.print(f"   {text}", style)
    for leg, value in (hit.legs or {}).items():
        # Other figures may be missing, such as relevance without a reranker.
        if value is None and leg not in _LEGS:
            continue
        output.print(f"   {_explain(output, leg, value)}", "dim")
    output.print("")


def _explain(output: Output, leg: str, value: JsonValue) -> str:
    if value is None:
        return output.render(messages.LEG_NONE, leg=leg)
    if isinstance(value, dict):
        score = _short(value.get("score"))
        return output.render(messages.LEG, leg=leg, rank=value.get("rank"), score=score)
    return f"{leg}: {_short(value)}"


def _short(value: JsonValue) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


_WRITTEN = re.compile(r"(?P<key>[^=<>:]+?)\s*(?P<sign>>=|<=|=|>|<|:)\s*(?P<value>.+)", re.DOTALL)
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?")
_BOUNDS = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
_WORDS: dict[str, JsonValue] = {"true": True, "false": False}


def read_filters(written: Sequence[str]) -> JsonObject:
    """The filters of a search request.

    Args:
        written: ``key=value`` for metadata (the same key again: any of the values),
            ``key>=value`` and the like for ranges, ``type:pdf`` and ``name:guide*`` for the
            document itself.
    """
    filters: JsonObject = {}
    metadata: dict[str, JsonValue] = {}
    types: list[JsonValue] = []
    for text in written:
        match = _WRITTEN.fullmatch(text.strip())
        if match is None:
            raise CommandFailed(InvalidRequest("filter", text), FILTER_UNREADABLE)
        key, sign, value = match["key"].strip(), match["sign"], match["value"].strip()
        if sign != ":":
            metadata[key] = _with(metadata.get(key), sign, _value(value))
        elif key == "type":
            types.append(value)
        elif key == "name":
            filters["name"] = value
        else:
            raise CommandFailed(InvalidRequest("filter", text), FILTER_UNREADABLE)
    if metadata:
        filters["metadata"] = metadata
    if types:
        filters["file_types"] = types
    return filters


def _with(present: JsonValue, sign: str, value: JsonValue) -> JsonValue:
    if sign in _BOUNDS:
        return {**(present if isinstance(present, dict) else {}), _BOUNDS[sign]: value}
    if present is None or isinstance(present, dict):
        return value
    return [*(present if isinstance(present, list) else [present]), value]


def _value(word: str) -> JsonValue:
    """A JSON number or boolean; otherwise, and in quotes (00123, inf), a string."""
    if len(word) > 1 and word[0] == word[-1] == '"':
        return word[1:-1]
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    return json.loads(word) if _NUMBER.fullmatch(word) else word
