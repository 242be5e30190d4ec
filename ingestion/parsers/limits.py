"""Bounds on the resources of one parse."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """Bounds on one document; exceeding one raises a ``ParseFailure`` that names it.

    Attributes:
        seconds: Wall-clock time of one parse; of processor time it may use nine tenths of it.
        memory_bytes: Memory the child may take beside what it has at rest.
        archive_bytes: Unpacked bytes of all members.
        part_bytes: Unpacked bytes of one XML part.
        recognition_seconds: Additional wall-clock time for reading the pictures of a document.
        picture_seconds: Processor time for reading one of them.
        boxes: Places of texts on pages; further ones are left out, which fails nothing.
    """

    seconds: float = 60
    memory_bytes: int = 2**30
    output_characters: int = 50_000_000
    elements: int = 500_000
    pages: int = 2_000
    archive_entries: int = 2_000
    archive_bytes: int = 200 * 2**20
    part_bytes: int = 64 * 2**20
    recognition_seconds: float = 3600
    picture_seconds: float = 120
    image_pixels: int = 50_000_000
    boxes: int = 200_000
