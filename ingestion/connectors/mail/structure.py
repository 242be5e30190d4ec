"""Attachments in the structure of a message (BODYSTRUCTURE, RFC 3501, section 7.4.2)."""

import base64
import binascii
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.header import decode_header
from email.message import Message

from ingestion.connectors.mail.values import Value, text_of
from ingestion.parsers.file_type import has_parser
from ingestion.parsers.format_support import OURS_ONLY, FormatSupport

_MOST_ATTACHMENTS = 50
_DEEPEST = 20
_LONGEST_NAME = 200
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/]+")
_ENCODINGS = frozenset({"base64", "quoted-printable"})


@dataclass(frozen=True)
class AttachedFile:
    """A file in a message.

    Args:
        section: where it is in the message.
        name: that the sender gave it.
        encoding: of its bytes there.
    """

    section: str
    name: str
    encoding: str


def attachments_of(structure: Value, support: FormatSupport = OURS_ONLY) -> list[AttachedFile]:
    """The files in a message that are read by their names, the first fifty."""
    files: list[AttachedFile] = []
    for attachment in _files(structure, "", 0):
        if has_parser(attachment.name, support):
            files.append(attachment)
        if len(files) == _MOST_ATTACHMENTS:
            break
    return files


def _files(part: Value, section: str, depth: int) -> Iterator[AttachedFile]:
    if not isinstance(part, list) or not part or depth > _DEEPEST:
        return
    if isinstance(part[0], list):
        inner = [each for each in part if isinstance(each, list)]
        # Behind the parts are lists of parameters, which begin with no list and no type.
        count = next((number for number, each in enumerate(part) if not isinstance(each, list)), len(part))
        for number, each in enumerate(inner[:count], 1):
            yield from _files(each, f"{section}.{number}" if section else str(number), depth + 1)
        return
    kind = text_of(part[0]).lower()
    if kind == "message":
        # It is read with the message that it is in.
        return
    disposition = _disposition(part)
    name = _file_name(_parameters(part[2] if len(part) > 2 else None), disposition)
    is_attached = disposition.get("", "") == "attachment"
    # Texts and pictures that belong to what is written have names, too.
    if name and (is_attached or kind not in {"text", "image"}):
        encoding = text_of(part[5]).lower() if len(part) > 5 else ""
        yield AttachedFile(section or "1", name, encoding if encoding in _ENCODINGS else "")


def _disposition(part: Sequence[Value]) -> Mapping[str, str]:
    """The parameters of the disposition, and it itself without a name."""
    for value in part[7:]:
        if isinstance(value, list) and len(value) == 2 and isinstance(value[0], bytes):
            kind = text_of(value[0]).lower()
            if kind in {"attachment", "inline"}:
                return {"": kind, **_parameters(value[1])}
    return {}


def _parameters(value: Value) -> dict[str, str]:
    if not isinstance(value, list):
        return {}
    names = [text_of(name).lower() for name in value[::2]]
    return dict(zip(names, map(text_of, value[1::2]), strict=False))


def _file_name(parameters: Mapping[str, str], disposition: Mapping[str, str]) -> str:
    """The name that a sender gave, in any of the ways to write it (RFC 2231, RFC 2047)."""
    message = Message()
    message["Content-Type"] = _header("application/octet-stream", parameters)
    message["Content-Disposition"] = _header("attachment", disposition)
    try:
        name = message.get_filename("")
        parts = decode_header(name) if "=?" in name else [(name, None)]
        name = "".join(
            part if isinstance(part, str) else part.decode(charset or "ascii", "replace") for part, charset in parts
        )
    except (ValueError, LookupError, TypeError):
        return ""
    return name.replace("\\", "/").rpartition("/")[2].strip()[-_LONGEST_NAME:]


def _header(value: str, parameters: Mapping[str, str]) -> str:
    texts = [value]
    for name, text in parameters.items():
        if name:
            clean = re.sub(r'["\\\r\n]', "", text)
            texts.append(f"{name}={clean}" if name.endswith("*") else f'{name}="{clean}"')
    return "; ".join(texts)


async def decoded(blocks: AsyncGenerator[bytes], encoding: str) -> AsyncGenerator[bytes]:
    """The bytes of an attachment; what is broken in their encoding is left out."""
    rest = b""
    async for block in blocks:
        if encoding == "base64":
            rest += _NOT_BASE64.sub(b"", block)
            whole = len(rest) - len(rest) % 4
            yield base64.b64decode(rest[:whole])
            rest = rest[whole:]
        elif encoding == "quoted-printable":
            lines, end, rest = (rest + block).rpartition(b"\n")
            yield binascii.a2b_qp(lines + end)
        else:
            yield block
    if encoding == "base64" and len(rest) > 1:
        yield base64.b64decode(rest + b"=" * (-len(rest) % 4))
    elif encoding == "quoted-printable":
        yield binascii.a2b_qp(rest)
