"""Gives memory back that a runtime maps but no longer reads."""

import ctypes
from pathlib import Path

_MADV_DONTNEED = 4
_READ_ONLY = "r--"


def give_back_mapped(file: Path) -> None:
    """Drop this process's pages of a file that is mapped read-only (Linux; elsewhere nothing).

    OpenVINO reads the float32 weights once, to convert them, and keeps the file mapped: 85 MB that
    count as this process's. A page that is read again after all comes back from the file.
    """
    listing = Path("/proc/self/maps")
    if not listing.exists():
        return
    libc = ctypes.CDLL(None)
    for line in listing.read_text(encoding="utf-8", errors="replace").splitlines():
        addresses, rights, *_, name = line.split(maxsplit=5)
        if rights.startswith(_READ_ONLY) and name == str(file):
            start, end = (int(address, 16) for address in addresses.split("-"))
            libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _MADV_DONTNEED)
