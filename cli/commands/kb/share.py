"""``agentex kb share``: the shares of a knowledge base."""

from collections.abc import Callable
from typing import Annotated, TypeVar

import typer
from pydantic import JsonValue

from cli.client.api import ApiClient
from cli.client.schemas import JsonObject, Record
from cli.command import JsonOption, LanguageOption, Options, UrlOption, run
from cli.commands.kb.manage import KnowledgeBaseArgument
from cli.errors import CommandFailed, ExitCode, ServerRefused
from cli.ui.i18n import common as messages
from cli.ui.i18n.common import Message
from cli.ui.output import Output
from core.errors.conflicts import Conflict
from core.errors.requests import InvalidRequest

_ATTEMPTS = 10

UserOption = Annotated[list[str] | None, typer.Option("--user", help="A person, by user name; may come many times.")]
RoleOption = Annotated[
    list[str] | None, typer.Option("--role", help="All who have a role, such as developer; may come many times.")
]


class _SharedUser(Record):
    username: str


class _SharedRole(Record):
    name: str
    display_name: str = ""


class ShareSubject(Record):
    """A user, or a role for all who have it."""

    user: _SharedUser | None = None
    role: _SharedRole | None = None

    def subject(self) -> tuple[str, str]:
        """The request field that names it, and its name."""
        if self.user is not None:
            return "username", self.user.username
        return "role", self.role.name if self.role else ""

    def label(self, output: Output) -> str:
        """Its name in the output's language."""
        _, name = self.subject()
        if self.role is None:
            return name
        return output.render(messages.KB_ALL_OF_ROLE, role=self.role.display_name or name)


class _ShareRecord(ShareSubject):
    access: str = "read"


class VersionedList(Record):
    """A list of subjects with its version."""

    version: str | None = None


class ShareListRecord(VersionedList):
    """With whom something is shared."""

    items: list[_ShareRecord]
    total: int


V = TypeVar("V", bound=VersionedList)


def share(
    knowledge_base: KnowledgeBaseArgument,
    user: UserOption = None,
    role: RoleOption = None,
    write: Annotated[bool, typer.Option("--write", help="They may change what is in it, too.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take it back from these.")] = False,
    url: UrlOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Share a knowledge base with people or roles; without any, show with whom it is shared."""
    chosen = [("username", name) for name in user or ()] + [("role", name) for name in role or ()]

    async def body(output: Output, client: ApiClient) -> ExitCode:
        access = access_of(write=write, remove=remove)
        base = await client.find_knowledge_base(knowledge_base)
        path = f"/api/v1/knowledge-bases/{base.id}/shares"
        shares = await share_with(client, path, chosen, access)
        show_shares(output, shares, messages.KB_SHARED_WITH_NOBODY, base.name)
        return ExitCode.OK

    run(Options(json_only, language, url), body)


def access_of(*, write: bool, remove: bool) -> str | None:
    """The access for the named subjects; None removes them."""
    if write and remove:
        raise CommandFailed(InvalidRequest("remove", "with write"), messages.GIVE_OR_TAKE)
    return None if remove else "write" if write else "read"


async def share_with(
    client: ApiClient, path: str, chosen: list[tuple[str, str]], access: str | None
) -> ShareListRecord:
    """Add subjects to a list of shares, or remove them, and return the new list.

    Args:
        chosen: the fields that name them, and their names; none changes nothing.
        access: None removes them.
    """
    shares = client.read(ShareListRecord, await client.call("GET", path))
    if not chosen:
        return shares
    return await change(client, path, shares, lambda now: _changed(now, chosen, access))


def show_shares(output: Output, shares: ShareListRecord, nobody: Message, name: str) -> None:
    """Print the shares of an object, or the message ``nobody`` with its ``name``."""
    output.emit(shares.to_json())
    if not shares.items:
        output.say(nobody, name=name)
        return
    columns = (messages.KB_SHARED_WITH, messages.KB_ACCESS)
    output.table(columns, [_row(output, share) for share in shares.items])


async def change(client: ApiClient, path: str, present: V, changed: Callable[[V], JsonObject]) -> V:
    """Change a list on the server; a concurrent change makes it start again from the new list.

    Args:
        present: the list as it was read.
        changed: the request body for a list; its version is added.
    """
    shape: type[V] = type(present)
    attempts = 0
    while True:
        body = changed(present)
        if present.version is not None:
            body["version"] = present.version
        try:
            return client.read(shape, await client.call("PUT", path, body=body))
        except ServerRefused as refused:
            attempts += 1
            if refused.code != Conflict.code or attempts == _ATTEMPTS:
                raise
        present = client.read(shape, await client.call("GET", path))


def _changed(shares: ShareListRecord, chosen: list[tuple[str, str]], access: str | None) -> JsonObject:
    """The list with those chosen at this access, or without them."""
    # Names are the same whatever their case.
    keys = {(field, name.casefold()) for field, name in chosen}
    subjects = [(share.subject(), share.access) for share in shares.items]
    remaining = [(subject, present) for subject, present in subjects if (subject[0], subject[1].casefold()) not in keys]
    added = [] if access is None else [(subject, access) for subject in dict.fromkeys(chosen)]
    entries: list[JsonValue] = [{field: name, "access": granted} for (field, name), granted in [*remaining, *added]]
    return {"shares": entries}


def _row(output: Output, share: _ShareRecord) -> tuple[str, str]:
    level = messages.KB_WRITES if share.access == "write" else messages.KB_READS
    return share.label(output), output.render(level)
