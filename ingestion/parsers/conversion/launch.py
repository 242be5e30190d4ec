"""The process that confines itself and becomes LibreOffice, started by ``converter``.

``python -m ingestion.parsers.conversion.launch ACTION FOLDER PROGRAM SECONDS MEMORY FILE_BYTES DOCUMENT TARGET``

``convert`` turns the document into the target beside it; ``check`` says by ``PROTECTED`` that a password protects it.
"""

import os
import sys
from pathlib import Path

from ingestion.parsers.conversion.confinement import Bounds, confine
from ingestion.parsers.conversion.ole_documents import ENDINGS, is_document, is_protected

PROTECTED, DAMAGED = 77, 78
"""Exit codes: of ``check`` for a document with a password, and of ``convert`` for what is no document."""
PROFILE, OUTPUT = "profile", "output"
_FILTERS = {
    "docx": "MS Word 2007 XML",
    "xlsx": "Calc MS Excel 2007 XML",
    "pptx": "Impress MS PowerPoint 2007 XML",
}


def main() -> None:
    """Write the names of what confines this process on one line, then do what was asked."""
    action, folder, program, seconds, memory, file_bytes, document, target = sys.argv[1:]
    place = Path(folder)
    active = confine(place, [Path(program).parent.parent], Bounds(int(seconds), int(memory), int(file_bytes)))
    sys.stdout.write(" ".join(active) + "\n")
    sys.stdout.flush()
    if action == "check":
        sys.exit(PROTECTED if is_protected(place / document) else 0)
    if document.rpartition(".")[2] in ENDINGS and not is_document(place / document):
        sys.exit(DAMAGED)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    os.chdir(place)
    os.execve(program, _arguments(program, place, document, target), _environment(place))  # noqa: S606


def _arguments(program: str, folder: Path, document: str, target: str) -> list[str]:
    return [
        program,
        f"-env:UserInstallation={(folder / PROFILE).as_uri()}",
        *("--headless", "--norestore", "--nologo", "--nodefault", "--nolockcheck"),
        *("--convert-to", f"{target}:{_FILTERS[target]}", "--outdir", str(folder / OUTPUT)),
        str(folder / document),
    ]


def _environment(folder: Path) -> dict[str, str]:
    places = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"), str(folder))
    return {**places, "LC_ALL": "C.UTF-8", "SAL_USE_VCLPLUGIN": "svp"}


if __name__ == "__main__":
    main()
