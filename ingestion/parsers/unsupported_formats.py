"""Formats that no parser reads, and what to do with such a file."""

import re
from dataclasses import dataclass

_CONVERT = (
    "Open it in {program} and save it as {target}; many files at once: soffice --headless --convert-to {target} FILES"
)
_CONVERT_ZH = "请在 {program} 中打开并另存为 {target}；批量转换可用：soffice --headless --convert-to {target} 文件名"
_EXPORT = "Export or convert it to {target} and upload that"
_EXPORT_ZH = "请导出或转换为{target}后上传"
_UNPACK = "Unpack it and upload the files, or pack them as a zip archive"
_UNPACK_ZH = "请解压后上传其中的文件，或重新打包为 zip"


@dataclass(frozen=True, slots=True)
class UnsupportedFormat:
    """What becomes of files of some endings.

    Attributes:
        endings: Of file names, in lower case, separated by blanks.
        is_old_office: Whether it is a binary Office format, an OLE compound file.
    """

    endings: str
    next_action: str
    next_action_zh: str
    is_old_office: bool = False

    @property
    def label(self) -> str:
        """For people, the first of its endings."""
        return self.endings.split()[0]

    @property
    def advice(self) -> dict[str, str]:
        """Details of an error that say what to do, in both languages."""
        return {"next_action": self.next_action, "next_action_zh": self.next_action_zh}


def _office(endings: str, program: str, program_zh: str, target: str, *, is_old: bool = True) -> UnsupportedFormat:
    action = _CONVERT.format(program=program, target=target)
    action_zh = _CONVERT_ZH.format(program=program_zh, target=target)
    return UnsupportedFormat(endings, action, action_zh, is_old_office=is_old)


def _exported(endings: str, target: str, target_zh: str) -> UnsupportedFormat:
    return UnsupportedFormat(endings, _EXPORT.format(target=target), _EXPORT_ZH.format(target=target_zh))


_DOC = _office("doc dot wps", "Word, WPS or LibreOffice", "Word、WPS 或 LibreOffice", "docx")
_XLS = _office("xls xlt et", "Excel, WPS or LibreOffice", "Excel、WPS 或 LibreOffice", "xlsx")
_PPT = _office("ppt pps pot dps", "PowerPoint, WPS or LibreOffice", "PowerPoint、WPS 或 LibreOffice", "pptx")
_FLAT_TEXT = _office("fodt uot", "LibreOffice", "LibreOffice", "docx", is_old=False)
_FLAT_TABLE = _office("fods", "LibreOffice", "LibreOffice", "xlsx", is_old=False)
_FLAT_SLIDES = _office("fodp", "LibreOffice", "LibreOffice", "pptx", is_old=False)
_PICTURES = ("JPEG or PNG", " JPEG 或 PNG ")
UNDECODED_PHOTO = UnsupportedFormat(
    "heic avif",
    _EXPORT.format(target=_PICTURES[0]) + ". Or ask your operator to install agentex[heic], with which HEIC is read",
    _EXPORT_ZH.format(target=_PICTURES[1]) + "。或请管理员安装 agentex[heic]，即可读取 HEIC",
)
"""A photo whose decoder is not installed."""
UNREAD_FORMATS = (
    _DOC,
    _XLS,
    _PPT,
    _FLAT_TEXT,
    _FLAT_TABLE,
    _FLAT_SLIDES,
    _exported("gif", *_PICTURES),
    _exported("pages key numbers", "docx, pptx or xlsx", " docx、pptx 或 xlsx "),
    _exported("mobi azw azw3 chm djvu caj", "EPUB or PDF", " EPUB 或 PDF "),
    _exported("xlsb", "xlsx", " xlsx "),
    _exported("uos uop", "xlsx or pptx", " xlsx 或 pptx "),
    _exported("wpd hwp sxw lwp", "docx", " docx "),
    _exported("ofd xps oxps vsd vsdx one", "PDF", " PDF "),
    _exported("parquet dbf slk dif", "CSV", " CSV "),
    _exported("mp3 wav m4a flac mp4 mov mkv avi webm", "a transcript (srt, vtt or txt)", "文字稿（srt、vtt 或 txt）"),
    UnsupportedFormat("rar 7z gz tgz tar xz bz2 zst", _UNPACK, _UNPACK_ZH),
)
_BY_SUFFIX = {f".{ending}": form for form in UNREAD_FORMATS for ending in form.endings.split()}
# Names of streams that only old Office files have; those in the first sectors of a file are seen.
_STREAMS = {"WordDocument": _DOC, "Workbook": _XLS, "PowerPoint Document": _PPT}
_OLE_HEAD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_HTML_HEAD = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html|table|meta|head)", re.IGNORECASE)


def unsupported_format(suffix: str) -> UnsupportedFormat | None:
    """The entry of an ending such as ``.doc``."""
    return _BY_SUFFIX.get(suffix)


def unread_contents(head: bytes) -> UnsupportedFormat | None:
    """The old Office format that a file's first bytes show, whatever its name.

    A protected docx, xlsx or pptx is an OLE compound file as well; it is none of these.
    """
    if not head.startswith(_OLE_HEAD) or _PACKAGE in head:
        return None
    return next((form for name, form in _STREAMS.items() if name.encode("utf-16-le") in head), None)


def is_html(head: bytes) -> bool:
    """Whether a file begins like a web page, as the ``.xls`` and ``.doc`` files of many programmes do."""
    return _HTML_HEAD.match(head) is not None
