"""Formats that LibreOffice turns into one that a parser reads."""

import re
from dataclasses import dataclass
from typing import Literal

Container = Literal["ole", "xml"]

_OLE_HEAD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OPEN = "application/vnd.oasis.opendocument"
_FLAT_HEAD = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*<\?xml.{0,2000}?<(?:office:document|uof:UOF)[\s>]", re.DOTALL | re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ConvertedFormat:
    """A format of documents that are converted before they are parsed.

    Attributes:
        media_type: Identifies it, as a parser's media type does.
        file_type: Label for people, the first of its endings.
        endings: Of file names, in lower case, separated by blanks.
        target: Ending of the format that it is converted to.
        container: Which first bytes a file of it must have; others are refused, since LibreOffice reads nearly all.
    """

    media_type: str
    endings: str
    target: Literal["docx", "xlsx", "pptx"]
    container: Container

    @property
    def file_type(self) -> str:
        return self.endings.split()[0]

    @property
    def suffixes(self) -> frozenset[str]:
        return frozenset(f".{ending}" for ending in self.endings.split())

    def matches(self, head: bytes) -> bool:
        """Whether a file's first bytes are those of its container."""
        return head.startswith(_OLE_HEAD) if self.container == "ole" else _FLAT_HEAD.match(head) is not None


CONVERTED_FORMATS = (
    ConvertedFormat("application/msword", "doc dot wps", "docx", "ole"),
    ConvertedFormat("application/vnd.ms-excel", "xls xlt et", "xlsx", "ole"),
    ConvertedFormat("application/vnd.ms-powerpoint", "ppt pps pot dps", "pptx", "ole"),
    ConvertedFormat(f"{_OPEN}.text-flat-xml", "fodt", "docx", "xml"),
    ConvertedFormat(f"{_OPEN}.spreadsheet-flat-xml", "fods", "xlsx", "xml"),
    ConvertedFormat(f"{_OPEN}.presentation-flat-xml", "fodp", "pptx", "xml"),
    ConvertedFormat("application/vnd.uof.text", "uot", "docx", "xml"),
)
"""Of each a file was made and read in the tests."""

BY_MEDIA_TYPE = {form.media_type: form for form in CONVERTED_FORMATS}
BY_SUFFIX = {suffix: form for form in CONVERTED_FORMATS for suffix in form.suffixes}
