"""Parts and relations of an Office Open XML package."""

import posixpath
from dataclasses import dataclass
from xml.etree.ElementTree import Element
from zipfile import ZipFile

from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.office.xml import read_xml
from ingestion.parsers.office.zip import read_part


@dataclass(frozen=True, slots=True)
class Relation:
    """A reference to a part; ``kind`` is the last word of its type: ``slide``, ``sharedStrings``, ..."""

    kind: str
    part: str


def relations(archive: ZipFile, part: str, limits: ParseLimits) -> dict[str, Relation]:
    """The internal relations of a part (of the package for an empty name) by id."""
    folder, _, name = part.rpartition("/")
    content = read_part(archive, posixpath.join(folder, "_rels", f"{name}.rels"), limits)
    relations_by_id: dict[str, Relation] = {}
    for node in read_xml(content) if content else ():
        if node.get("TargetMode") == "External":
            continue
        target = posixpath.join("/", folder, node.get("Target") or "")
        kind = (node.get("Type") or "").rpartition("/")[2]
        relations_by_id[node.get("Id") or ""] = Relation(kind, posixpath.normpath(target).lstrip("/"))
    return relations_by_id


def main_part(archive: ZipFile, usual: str, limits: ParseLimits) -> str:
    """Name of the main part, also where it is not the usual one."""
    if usual in archive.NameToInfo:
        return usual
    package = relations(archive, "", limits).values()
    return next((relation.part for relation in package if relation.kind == "officeDocument"), usual)


def read_root(archive: ZipFile, part: str, limits: ParseLimits) -> Element:
    """The root of a required part; ParseFailure ``corrupt_file`` when missing."""
    content = read_part(archive, part, limits)
    if content is None:
        raise ParseFailure(FailureReason.CORRUPT_FILE)
    return read_xml(content)


def relation_id(node: Element, name_: str = "id") -> str:
    """The value of an attribute in the relationships' namespace, or an empty string."""
    ending = f"/relationships}}{name_}"
    return next((value for key, value in node.attrib.items() if key.endswith(ending)), "")
