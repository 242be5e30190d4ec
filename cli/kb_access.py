"""``agentex kb access``: who reads a single document of a knowledge base, and changing that."""

from typing import Annotated

import typer

from cli import messages
from cli.client import ApiClient
from cli.command import JsonOption, LanguageOption, Options, UrlOption, run
from cli.kb import WantedArgument
from cli.kb_share import RoleOption, Subject, UserOption
from cli.output import Output
from cli.problems import CommandFailed, ExitCode
from cli.records import DocumentRecord, JsonObject, KnowledgeBaseRecord, Record
from core.errors import Conflict, DocumentNotFound, InvalidRequest

DocumentArgument = Annotated[str, typer.Argument(help="The document, by name or id.")]


class _Access(Record):
    restricted: bool
    items: list[Subject]


def access(
    wanted: WantedArgument,
    document: DocumentArgument,
    user: UserOption = None,
    role: RoleOption = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take it from these.")] = False,
    nobody: Annotated[
        bool, typer.Option("--nobody", help="Nobody but the owner of the knowledge base.")
    ] = False,
    everybody: Annotated[
        bool, typer.Option("--everybody", help="All who read the knowledge base.")
    ] = False,
    url: UrlOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Let only some of a knowledge base's readers read a document; else show who reads it."""
    chosen = [("username", name) for name in user or ()] + [("role", name) for name in role or ()]

    async def body(output: Output, client: ApiClient) -> ExitCode:
        if nobody + everybody + bool(chosen) > 1 or (remove and not chosen):
            raise CommandFailed(InvalidRequest("options", "too many"), messages.KB_ACCESS_OPTIONS)
        base = await client.find_knowledge_base(wanted)
        found = await _find(client, base, document)
        path = f"/api/v1/knowledge-bases/{base.id}/documents/{found.id}/access"
        if everybody:
            await client.call("DELETE", path)
        present = client.read(_Access, await client.call("GET", path))
        if nobody or chosen:
            readers: list[JsonObject] = [] if nobody else _changed(present, chosen, remove=remove)
            answer = await client.call("PUT", path, body={"readers": [*readers]})
            present = client.read(_Access, answer)
        output.emit(present.to_json())
        _show(output, found.name, present)
        return ExitCode.OK

    run(Options(json_only, language, url), body)


def _show(output: Output, name: str, present: _Access) -> None:
    if not present.restricted:
        output.say(messages.KB_READ_BY_ALL, name=name)
    elif not present.items:
        output.say(messages.KB_READ_BY_NOBODY, name=name)
    else:
        rows = [(one.label(output),) for one in present.items]
        output.table((messages.KB_READ_BY,), rows)


def _changed(present: _Access, chosen: list[tuple[str, str]], *, remove: bool) -> list[JsonObject]:
    """Those who read it already with those chosen, or without them."""
    keys = {(field, name.casefold()) for field, name in chosen}
    named = [one.subject() for one in present.items]
    kept = [one for one in named if (one[0], one[1].casefold()) not in keys]
    added = [] if remove else [*dict.fromkeys(chosen)]
    return [{field: name} for field, name in [*kept, *added]]


async def _find(client: ApiClient, base: KnowledgeBaseRecord, wanted: str) -> DocumentRecord:
    """The document with this id, or with this name.

    Raises:
        CommandFailed: there is none, or several have the name.
    """
    named: list[DocumentRecord] = []
    async for page in client.document_pages(base.id):
        for one in page:
            if one.id == wanted:
                return one
            named += [one] if one.name == wanted else []
    if not named:
        raise CommandFailed(DocumentNotFound(), messages.KB_NO_DOCUMENT, wanted=wanted)
    if len(named) > 1:
        ids = ", ".join(one.id for one in named)
        raise CommandFailed(Conflict(), messages.KB_SEVERAL_DOCUMENTS, wanted=wanted, ids=ids)
    return named[0]
