"""``agentex rule share``: the shares of a rule."""

from typing import Annotated

import typer

from cli.client.api import ApiClient
from cli.command import client_command
from cli.commands.kb.share import RoleOption, UserOption, access_of, share_with, show_shares
from cli.commands.rules.manage import PATH, RuleArgument, find
from cli.errors import ExitCode
from cli.ui.i18n import rules as messages
from cli.ui.output import Output


@client_command
async def share(
    output: Output,
    client: ApiClient,
    rule: RuleArgument,
    user: UserOption = None,
    role: RoleOption = None,
    write: Annotated[bool, typer.Option("--write", help="They may switch it on and off, too.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take it back from these.")] = False,
) -> ExitCode:
    """Share a rule and its log with people or roles; without any, show with whom it is shared."""
    chosen = [("username", name) for name in user or ()] + [("role", name) for name in role or ()]
    access = access_of(write=write, remove=remove)
    row = await find(client, rule)
    shares = await share_with(client, f"{PATH}/{row.id}/shares", chosen, access)
    show_shares(output, shares, messages.SHARED_WITH_NOBODY, row.name)
    return ExitCode.OK
