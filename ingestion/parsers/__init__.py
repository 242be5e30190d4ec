"""The registry of document formats: one line per format, one module per parser.

Modules are named, not imported, so that the API can detect types without loading any library. ``README.md`` says how
to add a format.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, cast

from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument

Parse = Callable[[Path, ParseLimits], ParsedDocument]
"""Reads one file; raises ``ParseFailure`` for what the file or its limits do not allow."""
Preflight = Callable[[IO[bytes], ParseLimits], None]
"""Refuses an upload by what it says of its own size, before any of it is stored."""


@dataclass(frozen=True, slots=True)
class Family:
    """Formats whose files start alike.

    Attributes:
        name: For error details.
        magic: How every file starts; None for text.
        encrypted_as: Family of password-protected files.
        preflight: Function of ``preflight`` that checks an upload.
        is_recognised: Whether a file may hold pictures that are read by text recognition.
    """

    name: str
    magic: re.Pattern[bytes] | None = None
    encrypted_as: str | None = None
    preflight: str | None = None
    is_recognised: bool = False


TEXT = Family("text")
PDF = Family("pdf", re.compile(rb"%PDF-"), is_recognised=True)
ZIP = Family("zip", re.compile(rb"PK\x03\x04|PK\x05\x06"), encrypted_as="ole", preflight="check_container")
OLE = Family("ole", re.compile(rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"))
RTF = Family("rtf", re.compile(rb"\{\\rtf"))
IMAGE = Family(
    "image",
    # BMP's two letters alone would match texts that begin with them.
    re.compile(
        rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff|II\*\x00|MM\x00\*|RIFF.{4}WEBP|BM.{4}\x00{4}"
        rb"|.{4}ftyp(?:hei[cxms]|hev[cxms]|mif1|msf1|avi[fs])",
        re.DOTALL,
    ),
    preflight="check_image",
    is_recognised=True,
)
FAMILIES = (PDF, ZIP, OLE, RTF, IMAGE)


@dataclass(frozen=True, slots=True)
class Format:
    """One format a document may have.

    Attributes:
        file_type: Short label for people; source code shows its language instead.
        module: The module of this package whose ``parse(path, limits)`` reads it.
        endings: Of file names, in lower case, separated by blanks.
        mark: Bytes in a file's head that distinguish it from others of its family.
        check: Function of ``preflight`` in place of the family's.
        has_parts: Whether it has parts with encodings of their own.
    """

    media_type: str
    file_type: str
    module: str
    family: Family
    endings: str
    mark: bytes = b""
    check: str | None = None
    has_parts: bool = False

    @property
    def suffixes(self) -> frozenset[str]:
        return frozenset(f".{ending}" for ending in self.endings.split())

    @property
    def preflight(self) -> str | None:
        """Name of the check of an upload."""
        return self.check or self.family.preflight


LANGUAGES = {
    "python": "py pyi pyw",
    "javascript": "js mjs cjs jsx",
    "typescript": "ts mts cts tsx",
    "java": "java",
    "kotlin": "kt kts",
    "scala": "scala sc",
    "groovy": "groovy gradle",
    "c": "c h",
    "cpp": "cc cpp cxx hh hpp hxx",
    "csharp": "cs",
    "objective-c": "m mm",
    "go": "go",
    "rust": "rs",
    "swift": "swift",
    "dart": "dart",
    "ruby": "rb rake gemspec",
    "php": "php",
    "perl": "pl pm",
    "lua": "lua",
    "r": "r",
    "julia": "jl",
    "haskell": "hs",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "clojure": "clj cljs cljc edn",
    "ocaml": "ml mli",
    "fsharp": "fs fsx",
    "lisp": "lisp el scm",
    "zig": "zig",
    "shell": "sh bash zsh fish",
    "powershell": "ps1 psm1",
    "batch": "bat cmd",
    "sql": "sql",
    "graphql": "graphql gql",
    "protobuf": "proto",
    "terraform": "tf tfvars hcl",
    "yaml": "yaml yml",
    "toml": "toml",
    "ini": "ini cfg conf properties env",
    "css": "css scss sass less",
    "vue": "vue",
    "svelte": "svelte",
    "cmake": "cmake",
    "diff": "diff patch",
}
_CODE = " ".join(LANGUAGES.values())
_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"
_WORD, _POINT, _EXCEL = (
    f"{_OFFICE}.wordprocessingml.document",
    f"{_OFFICE}.presentationml.presentation",
    f"{_OFFICE}.spreadsheetml.sheet",
)
_ODP = b"opendocument.presentation"
_ODS = b"opendocument.spreadsheet"

FORMATS = (
    Format("text/markdown", "markdown", "text.markdown", TEXT, "md markdown mdown mkd mdx"),
    Format(
        "text/plain",
        "text",
        "text.plain",
        TEXT,
        "txt text log rst adoc asciidoc org mediawiki textile texi texinfo",
        check="check_text",
    ),
    Format("text/html", "html", "web.html", TEXT, "html htm xhtml"),
    Format("application/pdf", "pdf", "pdf.parser", PDF, "pdf"),
    Format(_WORD, "docx", "office.docx", ZIP, "docx docm dotx dotm", mark=b"word/"),
    Format(_POINT, "pptx", "office.pptx", ZIP, "pptx pptm ppsx ppsm potx potm", mark=b"ppt/"),
    Format(_EXCEL, "xlsx", "office.xlsx", ZIP, "xlsx xlsm xltx xltm", mark=b"xl/"),
    Format(f"{_OPEN}.text", "odt", "office.odf", ZIP, "odt ott", mark=b"opendocument.text"),
    Format(f"{_OPEN}.presentation", "odp", "office.odf", ZIP, "odp otp", mark=_ODP),
    Format(f"{_OPEN}.spreadsheet", "ods", "office.odf", ZIP, "ods ots", mark=_ODS),
    Format("application/epub+zip", "epub", "web.epub", ZIP, "epub", mark=b"application/epub+zip"),
    Format("application/rtf", "rtf", "office.rtf", RTF, "rtf"),
    Format("message/rfc822", "eml", "email.eml", TEXT, "eml", has_parts=True),
    Format("application/vnd.ms-outlook", "msg", "email.msg", OLE, "msg"),
    Format("application/xml", "xml", "text.xml", TEXT, "xml rss atom opml fb2"),
    Format("image/png", "png", "image.parser", IMAGE, "png"),
    Format("image/jpeg", "jpeg", "image.parser", IMAGE, "jpg jpeg"),
    Format("image/tiff", "tiff", "image.parser", IMAGE, "tif tiff"),
    Format("image/webp", "webp", "image.parser", IMAGE, "webp"),
    Format("image/bmp", "bmp", "image.parser", IMAGE, "bmp"),
    Format("image/heic", "heic", "image.parser", IMAGE, "heic heif"),
    Format("image/avif", "avif", "image.parser", IMAGE, "avif"),
    Format("text/csv", "csv", "text.csv", TEXT, "csv"),
    Format("text/tab-separated-values", "tsv", "text.csv", TEXT, "tsv tab"),
    Format("application/json", "json", "text.json", TEXT, "json geojson"),
    Format("application/jsonl", "jsonl", "text.json_lines", TEXT, "jsonl ndjson"),
    Format("application/x-ipynb+json", "ipynb", "text.notebook", TEXT, "ipynb"),
    Format("application/x-subrip", "srt", "text.subtitles", TEXT, "srt"),
    Format("text/vtt", "vtt", "text.subtitles", TEXT, "vtt"),
    Format("application/x-tex", "tex", "text.tex", TEXT, "tex latex ltx"),
    Format("application/x-bibtex", "bib", "text.bibtex", TEXT, "bib"),
    Format("text/calendar", "ics", "text.ics", TEXT, "ics"),
    Format("text/vcard", "vcf", "text.vcard", TEXT, "vcf"),
    Format("text/x-gettext-translation", "po", "text.gettext", TEXT, "po"),
    Format("text/x-source", "code", "text.source_code", TEXT, _CODE),
)
ANSWERS = (
    Format("application/vnd.unstructured.elements+json", "elements", "remote.unstructured_elements", TEXT, ""),
    Format("application/vnd.docling.document+json", "docling", "remote.docling_document", TEXT, ""),
    Format("application/vnd.mineru.content+json", "mineru", "remote.mineru_content", TEXT, ""),
)
"""What the services of the parsers ``unstructured_api``, ``docling`` and ``mineru`` answer; read in the parser child, as no answer is trusted, and never uploaded."""
PARSERS = {form.media_type: form for form in FORMATS}
PARSED_IN_CHILD = PARSERS | {form.media_type: form for form in ANSWERS}
IMAGE_TYPES = frozenset(form.media_type for form in FORMATS if form.family is IMAGE)
MEDIA_TYPE_OF = {form.file_type: form.media_type for form in FORMATS}
LANGUAGE_OF_SUFFIX = {f".{suffix}": language for language, names in LANGUAGES.items() for suffix in names.split()}


def is_plain_text(media_type: str) -> bool:
    """Whether the whole file is text in one encoding."""
    form = PARSERS.get(media_type)
    return form is not None and form.family is TEXT and not form.has_parts


def parser_for(media_type: str) -> Parse:
    """The ``parse`` function of a registered media type; its libraries load at the first call."""
    module = import_module(f"{__name__}.{PARSED_IN_CHILD[media_type].module}")
    # The contract suite checks that each registered module has this function.
    return cast("Parse", module.parse)


def has_preflight(media_type: str) -> bool:
    """Whether an upload's declared size is checked; what is converted before it is parsed declares none."""
    form = PARSERS.get(media_type)
    return form is not None and form.preflight is not None


def run_preflight(media_type: str, file: IO[bytes], limits: ParseLimits) -> None:
    """Refuse an upload whose declared size is beyond a limit; loads Pillow: not for the event loop."""
    form = PARSERS.get(media_type)
    if form is not None and form.preflight is not None:
        check = cast("Preflight", getattr(import_module(f"{__name__}.preflight"), form.preflight))
        check(file, limits)
