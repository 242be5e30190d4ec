"""The processes of a measurement: the scripted model, the product on it, and the baseline on it."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

import httpx
import psutil

from benchmarks.product import Product, part_of, running_product
from benchmarks.runs.client import Address
from benchmarks.runs.model import MODEL, Script
from benchmarks.runs.pass_through import MODEL_URL

_START_SECONDS = 30
_API = "api"


@dataclass(frozen=True)
class Setting:
    """What runs.

    Args:
        product: the whole of it.
        api: its API process.
        baseline: the pass-through's process.
        ours: where runs are asked for.
        theirs: where the baseline's streams are.
        model: where the model itself is.
    """

    product: Product
    api: psutil.Process
    baseline: psutil.Process
    ours: Address
    theirs: Address
    model: Address

    def followed(self, run_id: str) -> Address:
        """Where a run's events are read again."""
        return Address(f"{self.ours.url}/{run_id}/events", self.ours.token)

    @property
    def function_agent(self) -> Address:
        """Where LlamaIndex's own agent answers."""
        return Address(self.theirs.url.replace("/stream", "/function-agent"))


def run_body(script: Script, run_id: str = "") -> dict:
    """The request for a run of the product, on a thread of its own."""
    question = {"id": str(uuid4()), "role": "user", "content": script.question}
    return {"threadId": str(uuid4()), "runId": run_id or str(uuid4()), "messages": [question]}


def chat_body(script: Script) -> dict:
    """The request for the same stream, to the model or through the baseline."""
    question = {"role": "user", "content": script.question}
    return {"model": MODEL, "stream": True, "messages": [question]}


def processor_seconds(process: psutil.Process) -> float:
    """Processor time of a process so far, all its threads included."""
    times = process.cpu_times()
    return times.user + times.system


@contextmanager
def running_setting(settings: Mapping[str, str] | None = None) -> Generator[Setting]:
    """Start the three, and stop them at the end.

    Args:
        settings: of the product, as environment variables, where it is not the default shape.
    """
    with program("benchmarks.runs.model", {}) as (port, _):
        model_url = f"http://127.0.0.1:{port}/v1"
        llm = {"AGENTEX_LLM_BASE_URL": model_url, "AGENTEX_LLM_MODEL": MODEL}
        with (
            program("benchmarks.runs.pass_through", {MODEL_URL: model_url}) as (other, baseline),
            running_product(settings={**llm, **(settings or {})}) as product,
        ):
            yield Setting(
                product,
                api_of(product),
                psutil.Process(baseline),
                Address(f"{product.url}/api/v1/agent/run", _token(product)),
                Address(f"http://127.0.0.1:{other}/stream"),
                Address(f"{model_url}/chat/completions"),
            )


def api_of(product: Product) -> psutil.Process:
    """The process that answers requests."""
    children = psutil.Process(product.pid).children(recursive=True)
    return next(child for child in children if part_of(child.cmdline()) == _API)


def _token(product: Product) -> str:
    login = {"username": product.username, "password": product.password}
    answer = httpx.post(f"{product.url}/api/v1/auth/login", json=login, timeout=60)
    answer.raise_for_status()
    return str(answer.json()["data"]["access_token"])


@contextmanager
def program(module: str, variables: Mapping[str, str]) -> Generator[tuple[int, int]]:
    """A program of the benchmarks' own that takes a port; gives that port and the process id."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-m", module, str(port)], env={**os.environ, **variables})
    try:
        _wait_for(port, process)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(_START_SECONDS)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit(f"{process.args} did not start")
