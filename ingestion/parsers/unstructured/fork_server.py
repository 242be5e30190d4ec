"""The process that has loaded unstructured and whose forks each read one document, started by ``parser``.

``python -I -B fork_server.py ROOT``, by the Python of unstructured's own environment; ``ROOT`` is the folder of Agentex's
packages, of which only modules without dependencies are imported. It speaks lines of JSON: to each request it answers
with the number of a fork, then with its exit code. Results are in a file, so that a fork that a document has taken over
can't answer for another document. The server itself never opens a document.
"""

import ctypes
import gc
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TextIO

_OURS = ("mapping", "partition", "recognition", "stand_ins")
RESULT = "result.json"
"""The file of a fork's result, in the folder of its document."""


def main() -> None:
    """Load the library, then serve requests until the standard input ends."""
    root = sys.argv[1]
    requests, answers = _private_pipes()
    modules = _load(root)
    modules.limits.die_with_parent(ctypes.CDLL(None))
    modules.stand_ins.stand_in_for_spacy_model()
    modules.stand_ins.stand_in_for_layout_models()
    _warm_up()
    answer(answers, {"ready": True})
    for line in requests:
        request = json.loads(line)
        with suppress(ImportError):
            # It is raised again in the fork, which reports it.
            modules.partition.load(request["reader"])
        gc.freeze()
        fork = os.fork()
        if fork == 0:
            _read(request, modules, (requests, answers))
        answer(answers, {"fork": fork})
        _, status = os.waitpid(fork, 0)
        answer(answers, {"code": os.waitstatus_to_exitcode(status)})


class _Modules(NamedTuple):
    """Modules of Agentex, none of which has dependencies."""

    limits: ModuleType
    confinement: ModuleType
    mapping: ModuleType
    partition: ModuleType
    recognition: ModuleType
    stand_ins: ModuleType


def _load(root: str) -> _Modules:
    # Last, and only for now: the library's own dependencies must not come from Agentex's environment.
    sys.path.append(root)
    names = ("sandbox.limits", "conversion.confinement", *(f"unstructured.{name}" for name in _OURS))
    modules = _Modules(*(import_module(f"ingestion.parsers.{name}") for name in names))
    sys.path.remove(root)
    return modules


def answer(answers: TextIO, message: Mapping[str, object]) -> None:
    """Write one line."""
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def _private_pipes() -> tuple[TextIO, TextIO]:
    """The pipes to the worker, moved away from where a library might print."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    return requests, answers


def _warm_up() -> None:
    """Have what is loaded at the first text loaded now."""
    partition_text = import_module("unstructured.partition.text").partition_text
    text = "The pump is checked each week. It is oiled each month, and its seal is replaced each year."
    for element in partition_text(text=text):
        element.to_dict()


def _read(request: Mapping[str, Any], modules: _Modules, pipes: tuple[TextIO, TextIO]) -> None:
    """Confine this fork, read the document, write the result and end."""
    folder = Path(request["folder"])
    code = 1
    try:
        for pipe in pipes:
            os.close(pipe.fileno())
        os.chdir(folder)
        tempfile.tempdir = str(folder)
        for variable in ("TMPDIR", "HOME"):
            os.putenv(variable, str(folder))
        bounds = modules.confinement.Bounds(request["seconds"], request["memory_bytes"], request["file_bytes"])
        # Programs of the library, such as pandoc, are in its environment.
        programs = [Path(sys.prefix), Path(sys.base_prefix)]
        if request["language_data"]:
            programs.append(Path(request["language_data"]))
        active = modules.confinement.confine(folder, programs, bounds, sockets=False)
        _write(folder / RESULT, {"active": list(active), **_outcome(request, modules)})
        code = 0
    finally:
        # Without what the server would do at its end.
        os._exit(code)


def _outcome(request: Mapping[str, Any], modules: _Modules) -> dict[str, object]:
    try:
        elements = modules.partition.partition(
            request["path"], request["reader"], request["strategy"], request["encoding"], request["languages"]
        )
        blocks, is_cut = _bounded(modules.mapping.blocks_of(elements, request["reader"]), request["characters"])
    # A library raises nearly anything; it fails this document.
    except BaseException as error:  # noqa: BLE001
        return {"reason": modules.partition.reason_of(error), "detail": type(error).__name__}
    if is_cut:
        return {"reason": "output_too_large"}
    return {"blocks": blocks, "recognised": modules.recognition.has_recognised()}


def _bounded(blocks: Iterable[tuple[Any, ...]], most: int) -> tuple[list[object], bool]:
    """The blocks, and whether they have more characters than is allowed."""
    accepted: list[object] = []
    for block in blocks:
        content = block[1]
        most -= len(content) if isinstance(content, str) else sum(len(cell) for row in content for cell in row)
        if most < 0:
            return [], True
        accepted.append(block)
    return accepted, False


def _write(path: Path, result: Mapping[str, object]) -> None:
    with path.open("w", encoding="utf-8", errors="replace") as file:
        json.dump(result, file, ensure_ascii=False)


if __name__ == "__main__":
    main()
