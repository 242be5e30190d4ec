"""``agentex kb``: create, list, show and delete knowledge bases."""

import shlex
from typing import Annotated

import typer

from cli.client.api import ApiClient
from cli.client.schemas import DocumentRecord, JsonObject, KnowledgeBaseRecord
from cli.command import client_command
from cli.errors import ExitCode
from cli.ui.i18n import common as messages
from cli.ui.i18n.common import Language
from cli.ui.output import Output
from cli.ui.prompts import YesOption, confirm

KnowledgeBaseArgument = Annotated[str, typer.Argument(metavar="NAME|ID", help="Its name or its id.")]


@client_command
async def create(
    output: Output,
    client: ApiClient,
    name: Annotated[str, typer.Argument(help="Its name.")],
    description: Annotated[str | None, typer.Option(help="What is in it.")] = None,
    splitter: Annotated[str | None, typer.Option(help="How documents are cut, e.g. parent_child.")] = None,
    chunk_size: Annotated[int | None, typer.Option(help="Tokens per chunk.")] = None,
    chunk_overlap: Annotated[int | None, typer.Option(help="Tokens that neighbouring chunks share.")] = None,
    parser: Annotated[str | None, typer.Option(help="What reads its documents, e.g. unstructured.")] = None,
    strategy: Annotated[str | None, typer.Option(help="How that parser reads, e.g. fast or hi_res.")] = None,
    public: Annotated[bool, typer.Option("--public", help="Everybody may search it.")] = False,
) -> ExitCode:
    """Create a knowledge base."""
    wishes: JsonObject = {
        "name": name,
        "description": description,
        "splitter": splitter,
        "chunk_size": chunk_size,
        "chunk_overlap": chunk_overlap,
        "parser": parser,
        "strategy": strategy,
        "is_public": public,
    }
    await create_and_tell(output, client, wishes)
    return ExitCode.OK


async def create_and_tell(
    output: Output, client: ApiClient, wishes: JsonObject, *, emit: bool = True
) -> KnowledgeBaseRecord:
    """Create a knowledge base and report it, with the server's notices.

    Args:
        wishes: fields of the new one; None leaves one to the server.
        emit: whether its record is this command's JSON.
    """
    fields: JsonObject = {key: value for key, value in wishes.items() if value is not None}
    base = await client.create_knowledge_base(fields)
    output.say(messages.KB_CREATED, name=base.name, id=base.id, quoted=shlex.quote(base.name))
    _show_notices(output, base)
    if emit:
        output.emit(base.to_json())
    return base


@client_command
async def list_knowledge_bases(output: Output, client: ApiClient) -> ExitCode:
    """List the knowledge bases that you may search."""
    bases = await client.list_knowledge_bases()
    output.emit({"items": [base.to_json() for base in bases], "total": len(bases)})
    if bases or not output.screen.is_terminal:
        columns = (messages.KB_NAME, messages.KB_DOCUMENTS, messages.KB_PUBLIC, messages.KB_ID)
        output.table(columns, [_row(output, base) for base in bases])
    else:
        output.say(messages.KB_NONE)
    return ExitCode.OK


def _row(output: Output, base: KnowledgeBaseRecord) -> tuple[str, ...]:
    return base.name, str(base.document_count), _yes(output, base.is_public), base.id


@client_command
async def show(output: Output, client: ApiClient, knowledge_base: KnowledgeBaseArgument) -> ExitCode:
    """Show a knowledge base and the documents in it that failed."""
    base = await client.find_knowledge_base(knowledge_base)
    query = {"status": "failed"}
    failed = [doc async for page in client.document_pages(base.id, query) for doc in page]
    documents = [document.to_json() for document in failed]
    output.emit({**base.to_json(), "failed_documents": [*documents]})
    _show(output, base, failed)
    return ExitCode.OK


def _show(output: Output, base: KnowledgeBaseRecord, failed: list[DocumentRecord]) -> None:
    created = f"{base.created_at:%Y-%m-%d %H:%M} UTC" if base.created_at else "-"
    output.facts(
        (
            (messages.KB_NAME, base.name),
            (messages.KB_ID, base.id),
            (messages.KB_DESCRIPTION, base.description or "-"),
            (messages.KB_DOCUMENTS, str(base.document_count)),
            (messages.KB_MODEL, base.embedding_model),
            (messages.KB_SPLITTER, base.splitter),
            (messages.KB_CHUNKS, f"{base.chunk_size} / {base.chunk_overlap}"),
            (messages.KB_PARSER, f"{base.parser} ({base.strategy})"),
            (messages.KB_PUBLIC, _yes(output, base.is_public)),
            (messages.KB_CREATED_AT, created),
            (messages.KB_FAILED, str(len(failed))),
        )
    )
    _show_notices(output, base)
    for document in failed:
        output.print(f"  {document.name}: {explain_failure(document, output.language)}", "red")


def _show_notices(output: Output, base: KnowledgeBaseRecord) -> None:
    for notice in base.notices:
        output.print(notice.explain(output.language), "yellow")


def explain_failure(document: DocumentRecord, language: Language) -> str:
    """Why a document failed or waits and what helps, in a language."""
    failure = document.failure or document.waiting
    return document.status if failure is None else failure.explain(language)


@client_command
async def set_parser(
    output: Output,
    client: ApiClient,
    knowledge_base: KnowledgeBaseArgument,
    parser: Annotated[str, typer.Argument(help="Its name, e.g. built_in or unstructured.")],
    strategy: Annotated[str | None, typer.Option(help="How it reads, e.g. fast or hi_res.")] = None,
) -> ExitCode:
    """Choose what reads a knowledge base's documents from now on.

    Present documents stay as they are: "agentex kb reindex NAME --force" reads
    them anew.
    """
    base = await client.find_knowledge_base(knowledge_base)
    wishes: JsonObject = {"parser": parser} if strategy is None else {"parser": parser, "strategy": strategy}
    answer = await client.call("PUT", f"/api/v1/knowledge-bases/{base.id}", body=wishes)
    changed = client.read(KnowledgeBaseRecord, answer)
    output.say(messages.KB_PARSER_SET, name=changed.name, parser=f"{changed.parser} ({changed.strategy})")
    output.emit(changed.to_json())
    return ExitCode.OK


@client_command
async def delete(
    output: Output, client: ApiClient, knowledge_base: KnowledgeBaseArgument, yes: YesOption = False
) -> ExitCode:
    """Delete a knowledge base with all its documents."""
    base = await client.find_knowledge_base(knowledge_base)
    if not confirm(output, yes, messages.KB_CONFIRM, name=base.name, count=base.document_count):
        return ExitCode.FAILED
    await client.delete_knowledge_base(base.id)
    output.say(messages.KB_DELETED, name=base.name)
    output.emit({"id": base.id, "name": base.name, "deleted": True})
    return ExitCode.OK


def _yes(output: Output, value: bool) -> str:
    return output.render(messages.YES if value else messages.NO)
