"""Parts of an Office Open XML package: which part is the main one, and what a part refers to."""

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
    """A reference from one part to another.

    Attributes:
        kind: The last word of its type: ``slide``, ``sharedStrings``, ...
        part: Name of the part it leads to.
    """

    kind: str
    part: str


def relations(archive: ZipFile, part: str, limits: ParseLimits) -> dict[str, Relation]:
    """The relations of a part (of the package for an empty name) by id; none that lead outside."""
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
    """Name of the main part: the package says it where it is not the usual one."""
    if usual in archive.NameToInfo:
        return usual
    package = relations(archive, "", limits).values()
    return next((relation.part for relation in package if relation.kind == "officeDocument"), usual)


def read_root(archive: ZipFile, part: str, limits: ParseLimits) -> Element:
    """The root of a part that must be there.

    Raises:
        ParseFailure: ``corrupt_file`` where it is not; what ``read_part`` and ``read_xml`` raise.
    """
    content = read_part(archive, part, limits)
    if content is None:
        raise ParseFailure(FailureReason.CORRUPT_FILE)
    return read_xml(content)


def relation_id(node: Element, name_: str = "id") -> str:
    """The value of an attribute in the relationships' namespace, empty without one."""
    ending = f"/relationships}}{name_}"
    return next((value for key, value in node.attrib.items() if key.endswith(ending)), "")
