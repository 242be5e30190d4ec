"""What every test may ask for; the fixtures themselves are in ``tests/fixtures``."""

import gc
import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# Machines are shared: how long an example takes says nothing. What stands in for everyone's gate
# draws the same examples each time; new ones are drawn where somebody works.
settings.register_profile(
    "agentex",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
    print_blob=True,
)
settings.load_profile("agentex")

pytest.register_assert_rewrite("tests.fixtures.http.client")

# In the order of their imports: pytest must see a module before another one imports it.
pytest_plugins = (
    "tests.fixtures.servers.external_services",
    "tests.fixtures.servers.oidc_provider",
    "tests.fixtures.database.databases",
    "tests.fixtures.product.server",
    "tests.fixtures.product.engine_processes",
    "tests.fixtures.runs.agent_runs",
    "tests.fixtures.product.owned_objects",
    "tests.fixtures.product.admin_terminal",
    "tests.fixtures.knowledge.worker_context",
    "tests.fixtures.knowledge.searchable_kb",
)


# A shell that runs the tests in the background has switched Ctrl-C off for all they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Keep the garbage collector out of what stays until the end: a gigabyte, which each full collection would visit."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Asynchronous tests run on asyncio, as the product does."""
    return "asyncio"
