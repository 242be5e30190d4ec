"""Detection of a document's type by its name and its first bytes together.

Pure and light: the API calls it before it accepts an upload, no parser library is imported.
"""

from dataclasses import dataclass
from pathlib import PurePosixPath
from zipfile import ZipFile

from core.errors.base import AgentexError
from core.errors.requests import EmptyFile, FileTypeMismatch, OldOfficeFile, TextRecognitionMissing, UnsupportedFileType
from ingestion.parsers import FAMILIES, FORMATS, IMAGE, LANGUAGE_OF_SUFFIX, OLE, PDF, RTF, TEXT, ZIP, Format
from ingestion.parsers.conversion.formats import BY_SUFFIX as CONVERTED_BY_SUFFIX
from ingestion.parsers.conversion.formats import ConvertedFormat
from ingestion.parsers.conversion.state import Conversion, advice_of
from ingestion.parsers.format_support import OURS_ONLY, FormatSupport
from ingestion.parsers.image.ocr import is_installed
from ingestion.parsers.image.photos import is_decodable, photo_kind
from ingestion.parsers.text.charset import byte_order_mark, control_share, wide_form
from ingestion.parsers.unsupported_formats import (
    UNDECODED_PHOTO,
    UnsupportedFormat,
    is_html,
    unread_contents,
    unsupported_format,
)

HEAD_BYTES = 8192
"""How much of a file ``detect_type`` wants to see; fewer bytes mean that the file is no longer."""

_BY_SUFFIX = {suffix: form for form in FORMATS for suffix in form.suffixes}
_BY_NAME = {
    "readme": ".txt",
    "license": ".txt",
    "copying": ".txt",
    "changelog": ".txt",
    "authors": ".txt",
    "dockerfile": ".sh",
    "makefile": ".sh",
}
# Signatures of files that are never text and that no parser reads; the value is the word for the details.
_FOREIGN = (
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "rar"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x7fELF", "executable"),
    (b"\xca\xfe\xba\xbe", "executable"),
    (b"\xcf\xfa\xed\xfe", "executable"),
    (b"\x00asm", "executable"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"SQLite format 3\x00", "database"),
)
_READABLE = frozenset(family.name for family in FAMILIES)
_MARKS = {form.file_type: form.mark for form in FORMATS if form.mark}
# The part of all Office Open XML files, and the one that identifies OpenDocument and e-books.
_OFFICE_PART, _KIND_PART = "[Content_Types].xml", "mimetype"
_LONGEST_KIND = 100
_ENCRYPTED = 0x1
_MOST_CONTROLS = 0.05
_AS_ARCHIVE = {
    "next_action": "Upload a zip file to POST /api/v1/knowledge-bases/{kb_id}/documents/archive: "
    "each file in it becomes a document",
    "next_action_zh": "zip 压缩包请上传到 POST /api/v1/knowledge-bases/{kb_id}/documents/archive："
    "其中每个文件会成为一个文档",
}
_AS_DOCUMENT = {
    "next_action": "Upload it as a document to POST /api/v1/knowledge-bases/{kb_id}/documents",
    "next_action_zh": "请作为文档上传到 POST /api/v1/knowledge-bases/{kb_id}/documents",
}


_OF_OFFICE = {
    "next_action": "By its contents it is a protected or old Office file or a message of Outlook: upload messages as .msg, "
    "remove a password, and save doc, xls and ppt as docx, xlsx and pptx",
    "next_action_zh": "按内容它是加密或旧版的 Office 文件，或 Outlook 邮件：邮件请以 .msg 上传，加密的请取消密码，"
    "doc、xls、ppt 请另存为 docx、xlsx、pptx",
}


@dataclass(frozen=True, slots=True)
class DetectedType:
    """A type of document.

    Attributes:
        name: Media type, a key of ``ingestion.parsers.PARSERS``.
        file_type: The label for people: "markdown", "pdf", ..., or the language of source code.
    """

    name: str
    file_type: str


def detect_type(name: str, head: bytes, size: int, support: FormatSupport = OURS_ONLY) -> DetectedType:
    """The type of an uploaded file; only the ending of its name counts.

    Args:
        support: what this server reads beside the formats of our parsers.

    Raises:
        EmptyFile: No bytes, or blanks only.
        UnsupportedFileType: No parser for this ending, or bytes no parser can read, a photo without its decoder among
            them; what to do is in the details.
        OldOfficeFile: A doc, xls or ppt by its name or its bytes, and this server does not read it.
        FileTypeMismatch: The bytes are of another type than the ending says.
        TextRecognitionMissing: A picture, recognition is not installed, and no other parser reads it.
    """
    suffix = _suffix(name)
    form = _BY_SUFFIX.get(suffix)
    if size == 0 or (size <= len(head) and _is_blank(head)):
        raise EmptyFile
    converted = _converted_format(suffix, form, head)
    if converted is not None and support.accepts(converted):
        return DetectedType(converted.media_type, converted.file_type)
    if form is None:
        raise _unsupported(suffix, head, support)
    if form.family is PDF and b"%PDF-".startswith(head):
        raise EmptyFile
    content = _content_kind(head)
    # A message may carry an old Office file, whose streams are then its own.
    unread = unread_contents(head) if form.family is not OLE else None
    if unread is not None:
        raise _refusal(unread, suffix, support, detected=unread.label)
    if form.family is TEXT:
        _check_text(suffix, head, content)
    else:
        _check_binary(form, content, head)
    if form.family is IMAGE and form.media_type not in support.also_read:
        _check_decoders(form, head)
    return DetectedType(form.media_type, LANGUAGE_OF_SUFFIX.get(suffix, form.file_type))


def has_parser(name: str, support: FormatSupport = OURS_ONLY) -> bool:
    """Whether files whose names end like this are read, as ``FormatSupport.lists`` counts."""
    suffix = _suffix(name)
    return suffix in _BY_SUFFIX or (suffix in CONVERTED_BY_SUFFIX and support.lists(CONVERTED_BY_SUFFIX[suffix]))


def ending_of(name: str) -> str:
    """The ending by which a file's type is told, in lower case and without its dot."""
    return _suffix(name).removeprefix(".")


def refuse_document_by_name(name: str) -> None:
    """Raise UnsupportedFileType for the name of an Office document or e-book, which are zip containers too."""
    suffix = _suffix(name)
    form = _BY_SUFFIX.get(suffix)
    if form is not None and form.family is ZIP:
        raise UnsupportedFileType(extension=suffix, **_AS_DOCUMENT)


def refuse_document_by_parts(name: str, archive: ZipFile) -> None:
    """Raise FileTypeMismatch for the parts of an Office document or e-book; ``zipfile`` raises BadZipFile and others."""
    kind = _document_kind(archive)
    if kind is not None:
        raise FileTypeMismatch(extension=_suffix(name), detected=kind, **_AS_DOCUMENT)


def _document_kind(archive: ZipFile) -> str | None:
    parts = archive.NameToInfo
    kind_part = parts.get(_KIND_PART)
    if kind_part is not None and not kind_part.flag_bits & _ENCRYPTED:
        with archive.open(kind_part) as part:
            text = part.read(_LONGEST_KIND)
        if text.startswith(b"application/"):
            return next((kind for kind, mark in _MARKS.items() if mark in text), None)
    if _OFFICE_PART not in parts:
        return None
    # An ordinary archive may have a folder of such a name: the other part distinguishes them.
    folders = {f"{path.split('/')[0]}/".encode() for path in parts}
    return next((kind for kind, mark in _MARKS.items() if mark in folders), None)


def _converted_format(suffix: str, form: Format | None, head: bytes) -> ConvertedFormat | None:
    """The format that a file is converted from; by its bytes, if they are of another old Office program."""
    if form is not None and form.family is not ZIP:
        return None
    by_name = CONVERTED_BY_SUFFIX.get(suffix)
    unread = unread_contents(head)
    if unread is not None and (by_name is None or by_name.container == "ole"):
        return CONVERTED_BY_SUFFIX.get(f".{unread.label}")
    return by_name if by_name is not None and by_name.matches(head) else None


def _unsupported(suffix: str, head: bytes, support: FormatSupport) -> AgentexError:
    """The refusal of a file whose ending no parser has."""
    unread = unsupported_format(suffix)
    if unread is None:
        hint = _AS_ARCHIVE if suffix == ".zip" else {}
        converted = {suffix for suffix, form in CONVERTED_BY_SUFFIX.items() if support.accepts(form)}
        return UnsupportedFileType(extension=suffix, **hint, supported=sorted({*_BY_SUFFIX, *converted}))
    ending = _readable_ending(head) if unread.is_old_office else None
    if ending is None and unread.is_old_office and _is_accepted(unread, support):
        # No program that writes such files wrote this one.
        return FileTypeMismatch(extension=suffix, detected=_content_kind(head), **unread.advice)
    if ending is None:
        return _refusal(unread, suffix, support)
    return UnsupportedFileType(
        extension=suffix,
        detected=ending,
        next_action=f"By its contents it is {ending}: let its name end in .{ending} and upload it again",
        next_action_zh=f"文件内容其实是 {ending}：请把扩展名改为 .{ending} 后重新上传",
    )


def _is_accepted(unread: UnsupportedFormat, support: FormatSupport) -> bool:
    form = CONVERTED_BY_SUFFIX.get(f".{unread.label}")
    return form is not None and support.accepts(form)


def _refusal(unread: UnsupportedFormat, suffix: str, support: FormatSupport, **details: str) -> UnsupportedFileType:
    kind = OldOfficeFile if unread.is_old_office else UnsupportedFileType
    advice = unread.advice
    is_convertible = f".{unread.label}" in CONVERTED_BY_SUFFIX
    if is_convertible and support.conversion is not Conversion.ON:
        advice = {
            name: f"{advice[name]}{stop}{more}"
            for name, stop, more in zip(advice, (". ", "。"), advice_of(support.conversion), strict=True)
        }
    return kind(extension=suffix, **details, **advice)


def _readable_ending(head: bytes) -> str | None:
    """What a file with the name of an old Office file really is, if a parser reads that."""
    content = _content_kind(head)
    if content == ZIP.name:
        return next((kind for kind, mark in _MARKS.items() if mark in head), None)
    if content in (RTF.name, PDF.name):
        return content
    return "html" if is_html(head) else None


def _suffix(name: str) -> str:
    base = PurePosixPath(name.replace("\\", "/").strip().rstrip(".").lower()).name
    return _BY_NAME.get(base) or PurePosixPath(base).suffix


def _is_blank(data: bytes) -> bool:
    codec = byte_order_mark(data) or wide_form(data) or "latin-1"
    return not data.decode(codec, "replace").strip("\x00\ufeff \t\r\n\v\f\xa0\u3000")


def _content_kind(head: bytes) -> str:
    for family in FAMILIES:
        if family.magic is not None and family.magic.match(head):
            return family.name
    return next((kind for magic, kind in _FOREIGN if head.startswith(magic)), TEXT.name)


def _check_text(suffix: str, head: bytes, content: str) -> None:
    if content in _READABLE:
        raise FileTypeMismatch(extension=suffix, detected=content, **(_OF_OFFICE if content == OLE.name else {}))
    if content != TEXT.name or (head.startswith(b"MZ") and _is_binary(head, most=0.0)):
        raise UnsupportedFileType(extension=suffix, detected=content)
    if _is_binary(head, most=_MOST_CONTROLS):
        raise UnsupportedFileType(extension=suffix, detected="binary")


def _is_binary(head: bytes, *, most: float) -> bool:
    if byte_order_mark(head) is not None:
        return False
    return control_share(head.replace(b"\x00", b"")) > most and wide_form(head) is None


def _check_binary(form: Format, content: str, head: bytes) -> None:
    # Password-protected files are reported by their parser.
    if content not in (form.family.name, form.family.encrypted_as):
        raise FileTypeMismatch(extension=f".{form.file_type}", detected=content)
    others = (mark for kind, mark in _MARKS.items() if kind != form.file_type)
    if content == ZIP.name and form.mark not in head and any(mark in head for mark in others):
        raise FileTypeMismatch(extension=f".{form.file_type}", detected=content)


def _check_decoders(form: Format, head: bytes) -> None:
    """Refuse a picture that our parser can't read here."""
    if not is_installed():
        raise TextRecognitionMissing(extra="agentex[ocr]")
    kind = photo_kind(head)
    if kind is not None and not is_decodable(kind):
        raise UnsupportedFileType(extension=f".{form.file_type}", detected=kind, **UNDECODED_PHOTO.advice)
