"""``agentex kb preview``: the passages of a file before its upload."""

from pathlib import Path
from typing import Annotated

import typer

from cli.client.api import ApiClient
from cli.client.schemas import PieceRecord, SplitPreviewRecord
from cli.command import JsonOption, LanguageOption, Options, UrlOption, run
from cli.commands.kb.search import place
from cli.errors import CommandFailed, ExitCode
from cli.ui.i18n.common import PATH_MISSING, Message
from cli.ui.output import Output
from core.errors.requests import InvalidRequest

PREVIEW_SUMMARY = Message(
    "{total} passages of {mean} tokens on average, {most} at most; {splitter}, {size} / {overlap}",
    "共 {total} 个段落，平均 {mean} 个词元，最多 {most} 个；{splitter}，{size} / {overlap}",
)
PREVIEW_WINDOWS = Message(
    "{count} windows are embedded instead of the long passages.", "较长的段落改为嵌入 {count} 个窗口。"
)
PREVIEW_TOKENS = Message("{count} tokens", "{count} 个词元")
PREVIEW_MORE = Message(
    "The first {shown} are shown; see more with --pieces.", "仅显示前 {shown} 个；用 --pieces 查看更多。"
)


def preview(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to cut.")],
    knowledge_base: Annotated[
        str, typer.Option("--kb", metavar="NAME|ID", help="Whose settings hold where none is given.")
    ],
    splitter: Annotated[str | None, typer.Option(help="How to cut it, e.g. parent_child.")] = None,
    chunk_size: Annotated[int | None, typer.Option(help="Tokens per chunk.")] = None,
    chunk_overlap: Annotated[int | None, typer.Option(help="Tokens that neighbouring chunks share.")] = None,
    pieces: Annotated[int, typer.Option(help="How many passages to show.")] = 10,
    url: UrlOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Show how a file would be cut into passages; nothing is uploaded for good."""
    wishes = {"splitter": splitter, "chunk_size": chunk_size, "chunk_overlap": chunk_overlap, "pieces": pieces}
    query = {name: value for name, value in wishes.items() if value is not None}

    async def body(output: Output, client: ApiClient) -> ExitCode:
        if not file.is_file():
            problem = InvalidRequest("path", "no such file")
            raise CommandFailed(problem, PATH_MISSING, path=str(file))
        base = await client.find_knowledge_base(knowledge_base)
        answer = await client.preview_split(base.id, file, query)
        output.emit(answer.to_json())
        _show(output, file.name, answer)
        return ExitCode.OK

    run(Options(json_only, language, url), body)


def _show(output: Output, name: str, answer: SplitPreviewRecord) -> None:
    for piece in answer.pieces:
        _show_piece(output, name, piece)
    output.say(
        PREVIEW_SUMMARY,
        total=answer.total,
        mean=round(answer.mean_tokens),
        most=answer.max_tokens,
        splitter=answer.splitter,
        size=answer.chunk_size,
        overlap=answer.chunk_overlap,
    )
    if answer.windows:
        output.say(PREVIEW_WINDOWS, count=answer.windows)
    if len(answer.pieces) < answer.total:
        output.remark(PREVIEW_MORE, shown=len(answer.pieces))


def _show_piece(output: Output, name: str, piece: PieceRecord) -> None:
    where = place(output, name, piece.page, piece.heading_path)
    tokens = output.render(PREVIEW_TOKENS, count=piece.token_count)
    output.print(f"{piece.index + 1}. {where}  {tokens}", "bold cyan")
    for line in piece.text.splitlines():
        output.print(f"   {line}")
    output.print("")
