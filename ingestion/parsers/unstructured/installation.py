"""Where unstructured is installed on this server, and what its strategies lack there."""

import sys
from pathlib import Path
from shutil import which

from core.settings import Settings
from ingestion.parsers.image.ocr import OcrSettings, installed_languages

PROGRAM_FOLDERS = "/usr/local/bin:/usr/bin:/bin"
"""Where the library looks for programs."""
FAST, OCR_ONLY, HI_RES = "fast", "ocr_only", "hi_res"
# Of the packages tesseract-ocr and poppler-utils; the second tells how many pages a PDF has.
_RECOGNITION_PROGRAMS = ("tesseract", "pdfinfo")
_LAYOUT_LIBRARIES = ("unstructured_inference", "torch", "onnxruntime", "cv2")


def environment_of(settings: Settings) -> Path:
    """The folder of its virtual environment, which need not exist."""
    return settings.unstructured_dir or Path(sys.prefix) / "unstructured"


def find_python(environment: Path) -> Path | None:
    """The environment's Python; None where unstructured is not installed."""
    python = environment / "bin" / "python"
    return python if python.exists() and _has(environment, "unstructured") else None


def model_folder(environment: Path) -> Path:
    """Where the operator puts models, as the library of Hugging Face keeps them (``HF_HOME``)."""
    return environment / "models"


def missing_parts(environment: Path, strategy: str, recognition: OcrSettings) -> tuple[str, ...]:
    """What a strategy needs and this server lacks, by the names under which it is installed; ``auto`` and ``fast`` need nothing more."""
    if find_python(environment) is None:
        return ("unstructured",)
    if strategy not in {OCR_ONLY, HI_RES}:
        return ()
    parts = [name for name in _RECOGNITION_PROGRAMS if which(name, path=PROGRAM_FOLDERS) is None]
    if not installed_languages(recognition):
        parts.append(f"tessdata {recognition.languages}")
    if strategy == HI_RES:
        if not all(_has(environment, name) for name in _LAYOUT_LIBRARIES):
            parts.append("unstructured[local-inference]")
        if not any(model_folder(environment).glob("hub/models--*")):
            parts.append("models")
    return tuple(parts)


def _has(environment: Path, package: str) -> bool:
    return any(environment.glob(f"lib/python3.*/site-packages/{package}"))
