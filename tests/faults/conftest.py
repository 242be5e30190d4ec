"""The installation that the fault tests share: their own, because the oracle looks at all of it."""

from collections.abc import Callable, Iterator

import pytest

from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.oracle import Allowed, check_sound, forget
from tests.fixtures.product.server import Server, running_server
from tests.fixtures.runs.agent_runs import model_variables


@pytest.fixture(scope="session")
def one_installation(tmp_path_factory: pytest.TempPathFactory, _model_server: ModelServer) -> Iterator[Server]:
    """A running product in its default shape and with a language model, for fault tests only."""
    variables = model_variables(_model_server)
    with running_server(tmp_path_factory.mktemp("faults"), variables=variables) as server:
        yield server


@pytest.fixture(scope="session")
def _llm_product(one_installation: Server) -> Server:
    return one_installation


@pytest.fixture(scope="session")
def servers(servers: Callable[[str], Server], one_installation: Server) -> Callable[[str], Server]:
    """Here the default shape is that installation."""
    return lambda shape: one_installation if shape == "embedded" else servers(shape)


@pytest.fixture
def installation(one_installation: Server) -> Iterator[Server]:
    """The product at rest with nothing wrong; must be so again after the test."""
    one_installation.wait_ready()
    forget(one_installation)
    yield one_installation
    # How many uploads were cut, the test knows, and checks by itself.
    check_sound(one_installation, allowed=Allowed(cut_uploads=1000))
