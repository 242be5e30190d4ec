"""The installation that the fault tests share: its own, because the oracle looks at all of it."""

from collections.abc import Iterator

import pytest

from tests.fixtures.oracle import Allowed, check_sound, forget
from tests.fixtures.server import Server, running_server


@pytest.fixture(scope="session")
def one_installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running product in its default shape, which only fault tests use."""
    with running_server(tmp_path_factory.mktemp("faults")) as server:
        yield server


@pytest.fixture
def installation(one_installation: Server) -> Iterator[Server]:
    """The product at rest with nothing wrong; must be so again after the test."""
    one_installation.wait_ready()
    forget(one_installation)
    yield one_installation
    # How many uploads were cut, the test knows, and checks by itself.
    check_sound(one_installation, allowed=Allowed(cut_uploads=1000))
