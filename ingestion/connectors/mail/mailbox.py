"""What a sync needs of a mailbox: its folders, the messages in them, and their bytes. Nothing is changed or marked as read."""

import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import UTC, date
from email.header import decode_header
from email.parser import BytesHeaderParser
from email.utils import parseaddr, parsedate_to_datetime

from ingestion.connectors.mail.connection import ImapConnection, imap_string
from ingestion.connectors.mail.failures import NOT_IMAP, MailError
from ingestion.connectors.mail.structure import AttachedFile, attachments_of
from ingestion.connectors.mail.values import Value, folder_name, number_of, pairs_of, parse_values
from ingestion.parsers.format_support import FormatSupport

_BLOCK = 2**20
_HEADS_AT_ONCE = 100
_HEADERS = b"BODY.PEEK[HEADER.FIELDS (SUBJECT FROM DATE)]"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NO_MESSAGES = frozenset({b"\\NOSELECT", b"\\NONEXISTENT"})
_LONGEST_TEXT = 2000
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class MailFolder:
    """A folder; ``name`` is for people, ``raw`` as the server writes it."""

    name: str
    raw: bytes


@dataclass(frozen=True)
class MessageHead:
    """What is in the head of a message; ``attachments`` only where they were asked for."""

    uid: int
    size: int
    subject: str
    sender: str
    sent_at: str
    attachments: tuple[AttachedFile, ...] = ()


class Mailbox:
    """Reads the mailbox behind a connection that is logged in; raises ``MailError``.

    Args:
        support: what is read beside the formats of our parsers.
    """

    def __init__(self, connection: ImapConnection, support: FormatSupport) -> None:
        self.connection = connection
        self._support = support
        self._selected: tuple[bytes, int] = (b"", 0)

    async def list_folders(self) -> list[MailFolder]:
        """The folders that can have messages, by name."""
        folders: dict[str, MailFolder] = {}
        for answer in await self.connection.command(b"LIST", b'""', b'"*"'):
            values = _values(answer.parts)
            match values:
                case [b"LIST", list() as flags, _, bytes() as raw] if not _NO_MESSAGES & set(_upper(flags)):
                    name = "INBOX" if raw.upper() == b"INBOX" else folder_name(raw)
                    folders[name] = MailFolder(name, raw)
                case _:
                    continue
        return [folders[name] for name in sorted(folders)]

    async def open_folder(self, raw: bytes) -> int:
        """Open a folder for reading (EXAMINE); the answer is its UIDVALIDITY."""
        if self._selected[0] == raw:
            return self._selected[1]
        self._selected = (b"", 0)
        validity = None
        for answer in await self.connection.command(b"EXAMINE", imap_string(raw)):
            text = answer.parts[0].upper()
            if text.startswith(b"OK [UIDVALIDITY "):
                validity = number_of(text[16:].partition(b"]")[0].strip())
        if validity is None:
            raise MailError(NOT_IMAP)
        self._selected = (raw, validity)
        return validity

    async def list_uids(self, since: date | None) -> list[int]:
        """The UIDs of the messages in the open folder, ascending: those that nobody has deleted."""
        words = [b"UNDELETED"]
        if since is not None:
            # Names of months as the protocol has them, whatever the locale.
            words += [b"SINCE", f"{since.day}-{_MONTHS[since.month - 1]}-{since.year:04}".encode()]
        uids: set[int] = set()
        for answer in await self.connection.command(b"UID SEARCH", *words):
            if answer.is_called(b"SEARCH"):
                numbers = [number_of(word) for word in answer.parts[0].split()[1:]]
                if None in numbers:
                    raise MailError(NOT_IMAP)
                uids.update(number for number in numbers if number)
        return sorted(uids)

    async def read_heads(self, uids: Sequence[int], *, attachments: bool) -> dict[int, MessageHead]:
        """The heads of some messages in the open folder; without those that are gone."""
        heads: dict[int, MessageHead] = {}
        fields = b"(UID RFC822.SIZE " + (b"BODYSTRUCTURE " if attachments else b"") + _HEADERS + b")"
        for start in range(0, len(uids), _HEADS_AT_ONCE):
            batch = uids[start : start + _HEADS_AT_ONCE]
            numbers = ",".join(map(str, batch)).encode()
            for pairs in await self._fetch(numbers, fields):
                head = _head(pairs, self._support)
                if head is not None and head.uid in batch:
                    heads[head.uid] = head
        return heads

    async def read_section(self, uid: int, section: str) -> AsyncGenerator[bytes]:
        """The bytes of a message in the open folder, or of a part of it; none if it is gone."""
        offset = 0
        while True:
            field = b"BODY.PEEK[%s]<%d.%d>" % (section.encode(), offset, _BLOCK)
            block = None
            for pairs in await self._fetch(b"%d" % uid, b"(UID " + field + b")"):
                if number_of(pairs.get(b"UID")) == uid:
                    name = b"BODY[%s]<%d>" % (section.encode(), offset)
                    block = pairs.get(name, block)
            if not isinstance(block, bytes) or not block:
                return
            if len(block) > _BLOCK:
                raise MailError(NOT_IMAP)
            yield block
            offset += len(block)
            if len(block) < _BLOCK:
                return

    async def _fetch(self, uids: bytes, fields: bytes) -> list[dict[bytes, Value]]:
        rows: list[dict[bytes, Value]] = []
        for answer in await self.connection.command(b"UID FETCH", uids, fields):
            match answer.parts[0].split(b" ", 2):
                case [_, kind, _] if kind.upper() == b"FETCH":
                    values = _values(answer.parts)
                    if len(values) == 3 and isinstance(values[2], list):
                        rows.append(pairs_of(values[2]))
                case _:
                    continue
        return rows


def _values(parts: Sequence[bytes]) -> list[Value]:
    try:
        return parse_values(parts)
    except ValueError as error:
        raise MailError(NOT_IMAP) from error


def _upper(flags: Sequence[Value]) -> list[bytes]:
    return [flag.upper() for flag in flags if isinstance(flag, bytes)]


def _head(pairs: dict[bytes, Value], support: FormatSupport) -> MessageHead | None:
    uid = number_of(pairs.get(b"UID"))
    size = number_of(pairs.get(b"RFC822.SIZE"))
    fields = next((value for name, value in pairs.items() if name.startswith(b"BODY[HEADER.FIELDS")), None)
    if uid is None or size is None or not isinstance(fields, bytes):
        return None
    # As they were sent: what is in no encoding comes as bytes that are no text.
    raw = {name.lower(): str(value) for name, value in BytesHeaderParser().parsebytes(fields).raw_items()}
    subject, sender, sent_at = (_text(raw.get(name, "")) for name in ("subject", "from", "date"))
    name, address = parseaddr(sender)
    return MessageHead(
        uid=uid,
        size=size,
        subject=subject,
        sender=f"{name} <{address}>" if name and address else name or address,
        sent_at=_time(sent_at),
        attachments=tuple(attachments_of(pairs.get(b"BODYSTRUCTURE"), support)),
    )


def _text(raw: str) -> str:
    """A header as text; what is in no encoding is taken for UTF-8."""
    raw = raw[:_LONGEST_TEXT].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    try:
        parts = decode_header(raw)
        text = "".join(
            part if isinstance(part, str) else part.decode(charset or "utf-8", "replace") for part, charset in parts
        )
    except (ValueError, LookupError):
        text = raw
    return " ".join(_CONTROLS.sub(" ", text).split())


def _time(text: str) -> str:
    try:
        time = parsedate_to_datetime(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    except (ValueError, TypeError, OverflowError):
        return ""
