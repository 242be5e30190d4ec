"""Time zones of the IANA database; the server's own zone is never used."""

from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

UTC_NAME = "UTC"
LONGEST_NAME = 64
# In the list for systems that have no zone set; it is no place.
_NO_ZONES = frozenset({"Factory"})


@cache
def zone_names() -> frozenset[str]:
    """All names, including those of older editions (``US/Pacific``).

    The list is that of the package ``tzdata``: operating systems' folders differ, and some contain
    names that are no zones.
    """
    listed = files("tzdata").joinpath("zones").read_text(encoding="ascii")
    return frozenset(listed.split()) - _NO_ZONES


def find_zone(name: str) -> ZoneInfo | None:
    """The zone of exactly this name, or None."""
    if name not in zone_names():
        return None
    try:
        return ZoneInfo(name)
    except ZoneInfoNotFoundError:
        return None
