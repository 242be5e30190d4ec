"""Whether this server converts documents with LibreOffice."""

import shutil
from pathlib import Path

from core.settings import Settings
from ingestion.parsers.conversion.state import PROGRAM, Conversion


def conversion_state(settings: Settings) -> Conversion:
    """Whether documents are converted, as the settings and this machine say now."""
    if "libreoffice" not in settings.parsers:
        return Conversion.OFF
    return Conversion.MISSING if find_soffice() is None else Conversion.ON


def find_soffice() -> Path | None:
    """The program itself rather than the script before it, which would look for Java and a display; None without it."""
    script = shutil.which(PROGRAM)
    if script is None:
        return None
    program = Path(script).resolve()
    binary = program.with_name("soffice.bin")
    return binary if binary.is_file() else program
