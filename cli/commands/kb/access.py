"""``agentex kb access``: the readers of a restricted document."""

from typing import Annotated

import typer

from cli.arguments import is_id
from cli.client.api import ApiClient
from cli.client.schemas import DocumentRecord, JsonObject, KnowledgeBaseRecord
from cli.command import JsonOption, LanguageOption, Options, UrlOption, run
from cli.commands.kb.manage import KnowledgeBaseArgument
from cli.commands.kb.share import RoleOption, ShareSubject, UserOption, VersionedList, change
from cli.errors import CommandFailed, ExitCode
from cli.ui.i18n import common as messages
from cli.ui.output import Output
from core.errors.auth import DocumentNotFound
from core.errors.conflicts import Conflict
from core.errors.requests import InvalidRequest

DocumentArgument = Annotated[str, typer.Argument(help="The document, by name or id.")]


class _DocumentAccess(VersionedList):
    restricted: bool
    items: list[ShareSubject]
    # An older server knows only what is restricted by hand.
    by_hand: bool = True
    source_readers: list[list[str]] | None = None


def access(
    knowledge_base: KnowledgeBaseArgument,
    document: DocumentArgument,
    user: UserOption = None,
    role: RoleOption = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take it from these.")] = False,
    nobody: Annotated[bool, typer.Option("--nobody", help="Nobody but the owner of the knowledge base.")] = False,
    everybody: Annotated[bool, typer.Option("--everybody", help="All who read the knowledge base.")] = False,
    url: UrlOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Let only some of a knowledge base's readers read a document; else show who reads it."""
    chosen = [("username", name) for name in user or ()] + [("role", name) for name in role or ()]

    async def body(output: Output, client: ApiClient) -> ExitCode:
        if nobody + everybody + bool(chosen) > 1 or (remove and not chosen):
            raise CommandFailed(InvalidRequest("options", "too many"), messages.KB_ACCESS_OPTIONS)
        base = await client.find_knowledge_base(knowledge_base)
        row = await _find(client, base, document)
        path = f"/api/v1/knowledge-bases/{base.id}/documents/{row.id}/access"
        if everybody:
            await client.call("DELETE", path)
        present = client.read(_DocumentAccess, await client.call("GET", path))
        if nobody:
            answer = await client.call("PUT", path, body={"readers": []})
            present = client.read(_DocumentAccess, answer)
        elif remove:
            present = await change(client, path, present, lambda now: _without(now, chosen, row.name))
        elif chosen:
            present = await change(client, path, present, lambda now: _with(now, chosen))
        output.emit(present.to_json())
        _show(output, row.name, present)
        return ExitCode.OK

    run(Options(json_only, language, url), body)


def _show(output: Output, name: str, present: _DocumentAccess) -> None:
    for level in present.source_readers or ():
        output.say(messages.KB_READ_BY_SOURCE, name=name, readers=", ".join(level) or "-")
    if present.source_readers is not None and not present.by_hand:
        return
    if not present.restricted:
        output.say(messages.KB_READ_BY_ALL, name=name)
    elif not present.items:
        output.say(messages.KB_READ_BY_NOBODY, name=name)
    else:
        rows = [(reader.label(output),) for reader in present.items]
        output.table((messages.KB_READ_BY,), rows)


def _with(present: _DocumentAccess, chosen: list[tuple[str, str]]) -> JsonObject:
    """The readers with those chosen added."""
    return _body([*_others(present, chosen), *dict.fromkeys(chosen)])


def _without(present: _DocumentAccess, chosen: list[tuple[str, str]], name: str) -> JsonObject:
    """The readers without those chosen."""
    if not (present.restricted and present.by_hand):
        raise CommandFailed(Conflict(), messages.KB_ACCESS_UNRESTRICTED, name=name)
    return _body(_others(present, chosen))


def _others(present: _DocumentAccess, chosen: list[tuple[str, str]]) -> list[tuple[str, str]]:
    # Names are the same whatever their case.
    keys = {(field, name.casefold()) for field, name in chosen}
    readers = [reader.subject() for reader in present.items]
    return [reader for reader in readers if (reader[0], reader[1].casefold()) not in keys]


def _body(readers: list[tuple[str, str]]) -> JsonObject:
    return {"readers": [{field: name} for field, name in readers]}


async def _find(client: ApiClient, base: KnowledgeBaseRecord, name: str) -> DocumentRecord:
    """The document with this id or name."""
    if is_id(name) and (document := await client.get_document(base.id, name)):
        return document
    pages = client.document_pages(base.id, {"name": name})
    # An older server does not filter.
    documents = [candidate async for page in pages for candidate in page if candidate.name == name]
    if not documents:
        raise CommandFailed(DocumentNotFound(), messages.KB_NO_DOCUMENT, wanted=name)
    if len(documents) > 1:
        ids = ", ".join(candidate.id for candidate in documents)
        raise CommandFailed(Conflict(), messages.KB_SEVERAL_DOCUMENTS, wanted=name, ids=ids)
    return documents[0]
