"""The architecture page: its modules, names and rooms exist."""

import importlib
import re

import pytest

from tests.fixtures.paths import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
STATIONS = sorted(set(re.findall(r"`((?:\w+/)+\w+)\.py`(?: `(\w+)`)?", PAGE)))
_PACKAGES = "core|kb_service|skills|ingestion|agents|api|cli"
ROOMS = sorted(set(re.findall(rf"`((?:{_PACKAGES})(?:/\w+)+)`", PAGE)))


@pytest.mark.parametrize(("path", "name"), STATIONS)
def test_every_module_and_its_name_exist(path: str, name: str):
    assert (ROOT / f"{path}.py").is_file()
    if name:
        module = importlib.import_module(path.replace("/", ".").removesuffix(".__init__"))
        assert hasattr(module, name)


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_exists(room: str):
    assert (ROOT / room).is_dir()


def test_every_package_has_a_place_in_the_tree():
    layers = PAGE.partition("## The tree at a glance")[2].partition("```\n")[2].partition("```")[0]
    for package in ("agentex", "core", "kb_service", "skills", "ingestion", "agents", "rules", "api", "cli"):
        assert re.search(rf"\b{package}\b", layers)
