"""The registry of document formats: one line per format, one module per parser.

Modules are named, not imported, so that the API can detect types without loading any library.
"""

from dataclasses import dataclass
from typing import Literal

Content = Literal["text", "pdf", "zip", "ole", "rtf", "image"]


@dataclass(frozen=True, slots=True)
class Format:
    """One format a document may have.

    Attributes:
        media_type: Its key in ``PARSERS``.
        file_type: Short label shown to people; source code shows its language instead.
        module: The module whose ``parse(path, limits)`` reads it.
        content: What the bytes must look like.
        suffixes: Endings of file names, with the dot, in lower case.
    """

    media_type: str
    file_type: str
    module: str
    content: Content
    suffixes: frozenset[str]


def _format(media_type: str, file_type: str, module: str, content: Content, names: str) -> Format:
    suffixes = frozenset(f".{name}" for name in names.split())
    return Format(media_type, file_type, f"{__name__}.{module}", content, suffixes)


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

FORMATS = (
    _format("text/markdown", "markdown", "text.markdown", "text", "md markdown mdown mkd mdx"),
    _format("text/plain", "text", "text.plain", "text", "txt text log rst adoc asciidoc org tex"),
    _format("text/html", "html", "web.html", "text", "html htm xhtml"),
    _format("application/pdf", "pdf", "pdf.parser", "pdf", "pdf"),
    _format(f"{_OFFICE}.wordprocessingml.document", "docx", "office.docx", "zip", "docx docm"),
    _format(
        f"{_OFFICE}.presentationml.presentation", "pptx", "office.pptx", "zip", "pptx pptm ppsx"
    ),
    _format(f"{_OFFICE}.spreadsheetml.sheet", "xlsx", "office.xlsx", "zip", "xlsx xlsm"),
    _format(f"{_OPEN}.text", "odt", "office.odf", "zip", "odt"),
    _format(f"{_OPEN}.presentation", "odp", "office.odf", "zip", "odp"),
    _format(f"{_OPEN}.spreadsheet", "ods", "office.odf", "zip", "ods"),
    _format("application/epub+zip", "epub", "web.epub", "zip", "epub"),
    _format("application/rtf", "rtf", "office.rtf", "rtf", "rtf"),
    _format("message/rfc822", "eml", "email.eml", "text", "eml"),
    _format("application/vnd.ms-outlook", "msg", "email.msg", "ole", "msg"),
    _format("application/xml", "xml", "text.xml", "text", "xml rss atom"),
    _format("image/png", "png", "image.parser", "image", "png"),
    _format("image/jpeg", "jpeg", "image.parser", "image", "jpg jpeg"),
    _format("image/tiff", "tiff", "image.parser", "image", "tif tiff"),
    _format("image/webp", "webp", "image.parser", "image", "webp"),
    _format("image/bmp", "bmp", "image.parser", "image", "bmp"),
    _format("text/csv", "csv", "text.csv", "text", "csv"),
    _format("text/tab-separated-values", "tsv", "text.csv", "text", "tsv tab"),
    _format("application/json", "json", "text.json", "text", "json geojson"),
    _format("application/jsonl", "jsonl", "text.json_lines", "text", "jsonl ndjson"),
    _format("text/x-source", "code", "text.source_code", "text", _CODE),
)
PARSERS = {form.media_type: form for form in FORMATS}
# Its parts have encodings of their own.
_MAIL = "message/rfc822"
LANGUAGE_OF_SUFFIX = {
    f".{suffix}": language for language, names in LANGUAGES.items() for suffix in names.split()
}


def is_plain_text(media_type: str) -> bool:
    """Whether the whole file is text in one encoding."""
    form = PARSERS.get(media_type)
    return form is not None and form.content == "text" and media_type != _MAIL
