"""E-books (EPUB 2 and 3): chapters in reading order, each read as an HTML page."""

import posixpath
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote
from zipfile import ZipFile

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.office.opc import read_root
from ingestion.parsers.office.xml import child, name, read_xml
from ingestion.parsers.office.zip import open_zip, read_part
from ingestion.parsers.web import html

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml"})


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read an .epub file; scripts are not run and nothing is fetched or unpacked to disk.

    Chapters come in the order of the book's spine, without its generated table of contents. An e-book with encrypted
    chapters (digital rights management) is ``password_protected``.
    """
    builder = DocumentBuilder(limits)
    with open_zip(path, limits) as archive:
        locked = _locked(archive, limits)
        for part in _chapters(archive, limits):
            if part in locked:
                raise ParseFailure(FailureReason.PASSWORD_PROTECTED)
            content = read_part(archive, part, limits)
            if content is not None:
                builder.extend(html.read(html.decode_page(content).text, limits))
    return builder.finish()


def _chapters(archive: ZipFile, limits: ParseLimits) -> Iterator[str]:
    container = read_root(archive, _CONTAINER, limits)
    package = next((node.get("full-path") or "" for node in container.iter() if name(node) == "rootfile"), "")
    root = read_root(archive, package, limits)
    manifest, spine = child(root, "manifest"), child(root, "spine")
    if manifest is None or spine is None:
        raise ParseFailure(FailureReason.CORRUPT_FILE)
    folder = posixpath.dirname(package)
    items = {item.get("id"): item for item in manifest}
    for reference in spine:
        item = items.get(reference.get("idref"))
        if item is None or "nav" in (item.get("properties") or "").split():
            continue
        if item.get("media-type") in _PAGES:
            yield posixpath.normpath(posixpath.join(folder, unquote(item.get("href") or "")))


def _locked(archive: ZipFile, limits: ParseLimits) -> frozenset[str]:
    """The encrypted parts (fonts may be, in a book that is free to read)."""
    content = read_part(archive, _ENCRYPTION, limits)
    if content is None:
        return frozenset()
    references = (node for node in read_xml(content).iter() if name(node) == "CipherReference")
    return frozenset(unquote(node.get("URI") or "") for node in references)
