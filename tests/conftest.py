"""What every test may ask for; the fixtures themselves are in ``tests/fixtures``."""

import pytest

pytest.register_assert_rewrite("tests.fixtures.client")

# In the order of their imports: pytest must see a module before another one imports it.
pytest_plugins = (
    "tests.fixtures.external",
    "tests.fixtures.database",
    "tests.fixtures.server",
    "tests.fixtures.agents",
    "tests.fixtures.bench",
)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Asynchronous tests run on asyncio, as the product does."""
    return "asyncio"
