"""The scripted model server of the strategies, also as an endpoint that checks requests as OpenAI's does."""

from collections.abc import Iterator

import pytest

from tests.fixtures.llm.model_server import ModelServer


@pytest.fixture(params=[False, True], ids=["lenient", "strict"])
def server(request: pytest.FixtureRequest) -> Iterator[ModelServer]:
    """A server of its own for each test, once for each kind of endpoint."""
    with ModelServer(is_strict=request.param) as running:
        yield running
