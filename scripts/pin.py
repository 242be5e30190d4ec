"""Prints ``constraints.txt``: the exact versions installed in this environment.

Run it in an environment made from ``pyproject.toml`` with the dev group, then test before keeping:
``python scripts/pin.py > constraints.txt``.
"""

import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path

_NOT_OURS_TO_PIN = {"agentex", "pip", "wheel"}


def list_pins() -> list[str]:
    """One ``name==version`` per installed distribution, with the markers of our own list."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    markers = {canonical(text): text.partition(";")[2].strip() for text in project["dependencies"] if ";" in text}
    pins: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        name = canonical(distribution.name)
        # The local part (2.13.0+cpu) names this machine's build, not the release.
        pins[name] = f"{name}=={distribution.version.partition('+')[0]}"
        if name in markers:
            pins[name] += f" ; {markers[name]}"
    return [pin for name, pin in sorted(pins.items()) if name not in _NOT_OURS_TO_PIN]


def canonical(requirement: str) -> str:
    """The normalised name of a requirement such as ``PyJWT[crypto]>=2``."""
    name = re.match(r"[\w.-]+", requirement)
    return re.sub(r"[-_.]+", "-", name.group()).lower() if name else ""


if __name__ == "__main__":
    sys.stdout.write("\n".join(list_pins()) + "\n")
