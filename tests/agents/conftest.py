"""The scripted model server and a client of it, for every test of the agents."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from tests.fixtures.http.client import NO_CERTIFICATES
from tests.fixtures.llm.model_server import ModelServer


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server of its own for each test; modules that read only the last request share one."""
    with ModelServer() as running:
        yield running


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(verify=NO_CERTIFICATES) as opened:
        yield opened
