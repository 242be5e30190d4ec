"""Where unstructured is installed on this server."""

import sys
from functools import cache
from pathlib import Path

from core.settings import Settings

_LAYOUT_LIBRARY = "unstructured_inference"
_MODEL_LIBRARY = "torch"


def environment_of(settings: Settings) -> Path:
    """The folder of its virtual environment, which need not exist."""
    return settings.unstructured_dir or Path(sys.prefix) / "unstructured"


def find_python(environment: Path) -> Path | None:
    """The environment's Python; None where unstructured is not installed."""
    python = environment / "bin" / "python"
    return python if python.exists() and _has(environment, "unstructured") else None


@cache
def has_layout_models(environment: Path) -> bool:
    """Whether it can read pictures: ``unstructured[local-inference]`` is installed."""
    return _has(environment, _LAYOUT_LIBRARY) and _has(environment, _MODEL_LIBRARY)


def _has(environment: Path, package: str) -> bool:
    return any(environment.glob(f"lib/python3.*/site-packages/{package}"))
