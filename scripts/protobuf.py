"""Generates ``agents/agui/protobuf/events_pb2.py`` from the ``events.proto`` beside it.

Run it after a change of the schema: ``python -m scripts.protobuf``.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = Path("agents/agui/protobuf/events.proto")


def generate(target: Path) -> None:
    """Write the module below ``target``, the root of the tree or a stand-in, at the schema's own path."""
    # The path from the root is the schema's name, of which a process may have only one.
    options = [f"--proto_path={ROOT}", f"--python_out={target}", str(SCHEMA)]
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", *options], check=True, cwd=ROOT)


if __name__ == "__main__":
    generate(ROOT)
