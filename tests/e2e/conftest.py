"""Shapes of the product that a test is tried in."""

import zlib

import pytest

from tests.fixtures.product.server import SHAPES

# Their queries are tried on SQLite and PostgreSQL by tests of their own, below HTTP.
_IN_ONE_SHAPE = frozenset(
    {"admin", "models", "rules", "runs", "search", "sessions", "skills", "test_knowledge_sources.py", "tools"}
)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Try a test of these folders and files in one shape, half of them in each and each always in the same."""
    if "server" not in metafunc.fixturenames or _IN_ONE_SHAPE.isdisjoint(metafunc.definition.path.parts):
        return
    if not any("server" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")):
        shape = SHAPES[zlib.crc32(metafunc.function.__name__.encode()) % len(SHAPES)]
        # A mark, because the fixture's own parameters give way to nothing else.
        metafunc.definition.add_marker(pytest.mark.parametrize("server", [shape], indirect=True))
