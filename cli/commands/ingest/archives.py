"""Zip files among the paths that ``agentex ingest`` is given: the server takes them apart."""

from pathlib import Path

from cli.client.api import ApiClient
from cli.client.schemas import ArchiveMemberRecord
from cli.commands.ingest.local_files import Found, LeftOut, LocalFile
from cli.commands.ingest.run import ABOUT_THE_FILE, Choices, Item
from cli.errors import ServerRefused
from cli.ui.i18n.common import REASON_UNREADABLE, Message


async def send_archives(
    client: ApiClient, knowledge_base_id: str, found: Found, choices: Choices
) -> list[Item]:
    """Upload the archives; their members join those that are followed or left out.

    Args:
        client: of the server.
        knowledge_base_id: where the documents go.
        found: names the archives; what is refused is added to it.
        choices: what becomes of a changed member whose name is taken.

    Raises:
        ServerRefused: an answer after which going on makes no sense.
    """
    items: list[Item] = []
    for archive in found.archives:
        try:
            members = await client.upload_archive(
                knowledge_base_id, archive.path, archive.name, choices.on_conflict.value
            )
        except OSError:
            found.left_out.append(LeftOut(archive.path, REASON_UNREADABLE, archive.asked_for))
        except ServerRefused as refusal:
            if refusal.code // 100 not in ABOUT_THE_FILE:
                raise
            reason = refusal.explain(choices.language)
            found.left_out.append(
                LeftOut(archive.path, _as_said(reason, reason), archive.asked_for)
            )
        else:
            for member in members:
                _sort(archive, member, items, found)
    return items


def _sort(archive: LocalFile, member: ArchiveMemberRecord, items: list[Item], found: Found) -> None:
    # Only shown: no path of a member is ever opened.
    path = Path(f"{archive.path}/{member.path}")
    if member.document is not None:
        file = LocalFile(path, member.document.name, asked_for=False)
        items.append(Item(file, document=member.document, outcome=member.document.outcome))
    elif member.error is not None:
        why = member.error.details.get("reason")
        more = f" ({why})" if why else ""
        error = member.error
        reason = _as_said(f"{error.message}{more}", f"{error.message_zh}{more}")
        found.left_out.append(LeftOut(path, reason))


def _as_said(en: str, zh: str) -> Message:
    """The server's words: braces in them are no placeholders."""
    return Message(*(text.replace("{", "{{").replace("}", "}}") for text in (en, zh)))
