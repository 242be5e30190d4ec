"""scripts/setup_torch.sh against an index of packages that a test serves."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from zipfile import ZipFile

import pytest

from tests.fixtures.paths import ROOT

(VERSION,) = re.findall(r"^torch==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
INSTALLED = f"torch-{VERSION}+cpu.dist-info"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere PyPI's build has no CUDA")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an index whose only package is torch; it wants CUDA, which nobody has."""
    folder = tmp_path_factory.mktemp("index")
    (folder / "torch").mkdir()
    with ZipFile(folder / "torch" / f"torch-{VERSION}+cpu-py3-none-any.whl", "w") as wheel:
        wheel.writestr(
            f"{INSTALLED}/METADATA",
            f"Metadata-Version: 2.1\nName: torch\nVersion: {VERSION}+cpu\nRequires-Dist: cuda-of-the-otters\n",
        )
        wheel.writestr(f"{INSTALLED}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{INSTALLED}/RECORD", "")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=folder))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def set_up(python: Path, target: Path, **variables: str) -> tuple[list[str], str]:
    """What the script installs, and what it says."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "AGENTEX_"))}
    variables = {"PIP_CONFIG_FILE": os.devnull, "PIP_TARGET": str(target), **variables}
    command = [ROOT / "scripts" / "setup_torch.sh", python]
    done = subprocess.run(command, env=own | variables, check=True, capture_output=True, text=True)
    return [path.name for path in target.glob("*.dist-info")], done.stdout + done.stderr


def test_pytorch_is_installed_from_its_own_index_without_cuda(python: Path, index: str, tmp_path: Path):
    assert set_up(python, tmp_path, AGENTEX_TORCH_INDEX=index) == ([INSTALLED], "")


def test_an_index_out_of_reach_is_named_and_left_to_the_next_step(python: Path, tmp_path: Path):
    address = "http://127.0.0.1:9/whl/cpu"
    installed, words = set_up(python, tmp_path, AGENTEX_TORCH_INDEX=address)
    assert installed == []
    assert address in words
    assert "AGENTEX_TORCH_INDEX" in words


def test_a_mirror_of_pypi_is_used_alone(python: Path, index: str, tmp_path: Path):
    assert set_up(python, tmp_path, PIP_INDEX_URL=index) == ([], "")
    assert set_up(python, tmp_path, AGENTEX_TORCH_INDEX="") == ([], "")
