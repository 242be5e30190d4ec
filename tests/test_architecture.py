"""The architecture rules that no type checker knows: layers, sizes, registries, generated files."""

import ast
import importlib
import json
import re
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import grimp
import pytest
import yaml

from core.settings import Settings
from scripts import env_example, lengths, names, pin
from tests.fixtures.paths import ROOT

PACKAGES = ("agentex", "core", "kb_service", "skills", "ingestion", "agents", "rules", "api", "cli", "migrations")
# Folder -> the module that names each of its modules.
REGISTRIES = {
    "agents/llm": "factory.py",
    "agents/strategies": "__init__.py",
    "agents/tools": "__init__.py",
    "ingestion/parsers": "__init__.py",
    "ingestion/splitters": "__init__.py",
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SOURCES = sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))


def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))


def test_import_contracts_are_kept():
    program = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run([str(program), "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_no_module_imports_itself_in_a_circle():
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=True)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()


def test_files_and_functions_are_short():
    assert list(lengths.find_long(ROOT)) == []


def test_long_files_and_functions_are_found(tmp_path: Path):
    (tmp_path / "core").mkdir()
    (tmp_path / "tests").mkdir()
    long_function = "def long():\n" + "    pass\n" * 60
    (tmp_path / "core" / "a.py").write_text(long_function + "\n" * 640)
    (tmp_path / "tests" / "b.py").write_text("\n" * 900)
    assert list(lengths.find_long(tmp_path)) == [
        "core/a.py:1: file of 701 lines, limit 700",
        "core/a.py:1: long has 61 lines, limit 60",
    ]


def test_every_module_says_its_purpose():
    silent = [
        str(path.relative_to(ROOT))
        for path in SOURCES
        if (text := path.read_text(encoding="utf-8")).strip() and ast.get_docstring(ast.parse(text)) is None
    ]
    assert silent == []


def possessive_groups(pattern: str) -> list[str]:
    """The quantifiers of groups in a pattern that give nothing back."""
    without_classes = re.sub(r"\[\^?\]?(?:\\.|[^\]\\])*\]", "[]", pattern)
    return re.findall(r"\)(?:[?*+]|\{\d+(?:,\d*)?\})\+", without_classes)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [(r"%[^\n]*(?:\n[ \t]*(?!\n))?+", [")?+"]), (r"(ab){2,3}+", ["){2,3}+"]), (r"[()*+]++", []), (r"(?:a*+b)+", [])],
)
def test_possessive_groups_are_found(pattern: str, found: list[str]):
    assert possessive_groups(pattern) == found


def test_no_pattern_has_possessive_groups():
    """Python 3.11.2, which Debian 12 has, matches too much with them: CPython's issues 100061 and 106052."""
    constants = (
        (path.relative_to(ROOT), node.value)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    assert [(str(path), text) for path, text in constants if possessive_groups(text)] == []


def test_only_the_settings_read_the_environment():
    readers = [
        str(path.relative_to(ROOT))
        for path in SOURCES
        if re.search(r"os\.(environ|getenv)|from os import .*(environ|getenv)", path.read_text())
    ]
    assert readers == ["core/settings/__init__.py"]


def test_env_example_equals_the_settings():
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    assert text == env_example.render(), "python -m scripts.env_example > .env.example"


def test_env_example_changes_nothing_when_used():
    names = re.findall(r"^AGENTEX_", (ROOT / ".env.example").read_text(), flags=re.MULTILINE)
    assert names == []
    lines = (ROOT / ".env.example").read_text().replace("#AGENTEX_", "AGENTEX_")
    values = dict(re.findall(r"^AGENTEX_(\w+)=(.*)$", lines, flags=re.MULTILINE))
    shown = {name.lower(): value for name, value in values.items() if value}
    assert Settings.model_validate(shown).model_dump() == Settings.model_validate({}).model_dump()


@pytest.mark.parametrize("folder", REGISTRIES)
def test_every_module_of_a_registry_is_reached_from_it(folder: str):
    home = ROOT / folder
    texts = {path: path.read_text(encoding="utf-8") for path in home.rglob("*.py")}
    modules = {path for path in texts if path.stem != "__init__"}
    reached, fresh = set[Path](), {home / REGISTRIES[folder]}
    while fresh:
        path = fresh.pop()
        reached.add(path)
        fresh |= {other for other in modules - reached if re.search(rf"\b{other.stem}\b", texts[path])}
    assert modules - reached == set()


def test_every_router_is_served():
    served = {id(router) for router in importlib.import_module("api.routers").ROUTERS}
    sources = [path.relative_to(ROOT) for path in (ROOT / "api").glob("*/*.py")]
    modules = {".".join(path.with_suffix("").parts): path for path in sources}
    with_router = {name for name, path in modules.items() if re.search(r"^router = ", path.read_text(), re.MULTILINE)}
    assert len(with_router) == len(served)
    assert {name for name in with_router if id(importlib.import_module(name).router) not in served} == set()


def test_every_dependency_is_pinned():
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {pin.canonical(line) for line in pins}
    wanted = PROJECT["project"]["dependencies"] + PROJECT["dependency-groups"]["dev"]
    assert {pin.canonical(text) for text in wanted} - pinned == set()
    assert all(re.fullmatch(r"[a-z0-9-]+==[\w.]+( ; .+)?", line) for line in pins)
    assert len(pinned) == len(pins)


def test_markers_of_pins_equal_those_of_the_dependencies():
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    with_marker = {pin.canonical(line): line.partition(" ; ")[2] for line in pins if " ; " in line}
    assert with_marker == {
        pin.canonical(text): text.partition(";")[2].strip()
        for text in PROJECT["project"]["dependencies"]
        if ";" in text
    }


def test_compose_sets_only_settings_that_exist():
    known = {f"AGENTEX_{name.upper()}" for name in Settings.model_fields}
    for service in compose()["services"].values():
        names = {name for name in service.get("environment", {}) if name.startswith("AGENTEX_")}
        assert names <= known


def test_compose_scales_every_part_out():
    services = compose()["services"]
    assert set(services) == {
        *("migrate", "engine", "worker", "api"),
        *("postgres", "redis", "qdrant", "minio", "bucket"),
    }
    wanted = {"DATABASE_URL", "REDIS_URL", "QDRANT_URL", "OBJECT_STORE_URL", "ENGINE_SOCKET"}
    for name in ("migrate", "engine", "worker", "api"):
        assert {f"AGENTEX_{part}" for part in wanted} <= set(services[name]["environment"])
        assert services[name]["command"] == ["agentex", name]
        assert services[name]["init"] is True
    unchecked = {name for name, service in services.items() if "healthcheck" not in service}
    assert unchecked == {"migrate", "bucket"}


def test_compose_has_no_secret_of_its_own():
    for service in compose()["services"].values():
        for name, value in service.get("environment", {}).items():
            # What has no value is handed on from outside.
            if value is not None and re.search(r"PASSWORD|SECRET|API_KEY|AUTH", name):
                assert re.search(r"\$\{\w+:\?[^}]+\}", value), name


def test_compose_hands_every_setting_of_a_model_on():
    about_models = re.compile(r"llm_|rerank_|embedding_|model_")
    wanted = {f"AGENTEX_{name.upper()}" for name in Settings.model_fields if about_models.match(name)}
    assert "AGENTEX_LLM_MODEL" in wanted
    for name in ("engine", "worker", "api"):
        environment = compose()["services"][name]["environment"]
        assert {one for one in wanted if environment.get(one, "fixed") is not None} == set()


def test_compose_volumes_are_all_declared():
    content = compose()
    used = {
        volume.partition(":")[0] for service in content["services"].values() for volume in service.get("volumes", [])
    }
    assert used == set(content["volumes"])


def test_compose_waits_only_for_services_it_has():
    services = compose()["services"]
    for service in services.values():
        for name, condition in service.get("depends_on", {}).items():
            healthy = condition["condition"] == "service_healthy"
            assert ("healthcheck" in services[name]) == healthy


def test_python_versions_agree():
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert PROJECT["project"]["requires-python"] == ">=3.11,<3.14"
    assert set(re.findall(r"^FROM python:(\S+?)-slim", dockerfile, flags=re.MULTILINE)) == {"3.12"}


def test_image_is_built_from_files_that_docker_is_given():
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    every, *given = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert every == "*"
    copies = [words.split()[:-1] for words in re.findall(r"^COPY (?!--from)(.+)$", dockerfile, flags=re.MULTILINE)]
    sources = {source for copy in copies for source in copy} - {"."}
    assert len(sources) >= 4
    assert [source for source in sorted(sources) if f"!{source}" not in given] == []


def test_nothing_committed_names_this_machine():
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = [name for name in tracked.stdout.split("\0") if name.endswith((".toml", ".txt", ".yml"))]
    names += ["Makefile", "Dockerfile", ".ci/run"]
    pattern = re.compile(r"file://|/opt/wheels|/tmp/|index-url\s*=|find-links")
    assert [name for name in names if pattern.search((ROOT / name).read_text())] == []


def test_state_words_are_stable():
    words = importlib.import_module("cli.supervisor.service").ServiceState
    assert json.loads(json.dumps([str(word) for word in words])) == [
        *("waiting", "starting", "ready", "done", "external"),
        *("restarting", "failing", "stopping", "stopped"),
    ]


def test_names_say_what_they_hold():
    assert [*names.find_names(ROOT), *names.find_unused_permissions(ROOT)] == []


def test_names_that_say_nothing_are_found(tmp_path: Path):
    (tmp_path / "core").mkdir()
    (tmp_path / "api").mkdir()
    (tmp_path / "core" / "a.py").write_text("class Wanted:\n    pass\n\n\nclass Twin:\n    one = 1\n")
    (tmp_path / "api" / "b.py").write_text("class Twin:\n    pass\n")
    assert [line.partition(": ")[2] for line in names.find_names(tmp_path)] == [
        "one says nothing; take the noun of what it holds",
        "class Wanted does not say what it is",
        "class Twin stands in api/b.py:1 too",
    ]
