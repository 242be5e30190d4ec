"""Live run events from another process while Redis loses everything or dies."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agents.agui.verifier import verify
from tests.fixtures.http.client import Api
from tests.fixtures.http.event_streams import Reader
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.api_processes import ApiProcesses, api_processes, same_caller
from tests.fixtures.runs.agent_runs import Run, camel, model_variables, run_body
from tests.fixtures.servers.redis_server import RedisServer


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    redis = RedisServer()
    yield redis
    redis.kill()


@pytest.fixture(scope="module")
def apis(
    tmp_path_factory: pytest.TempPathFactory, redis_server: RedisServer, _model_server: ModelServer
) -> Iterator[ApiProcesses]:
    variables = {**model_variables(_model_server), "AGENTEX_REDIS_URL": redis_server.url}
    with api_processes(Path(tmp_path_factory.mktemp("apis")), variables) as apis:
        for server in [apis.start(wait=False) for _ in range(2)]:
            apis.wait_up(server)
        yield apis


@pytest.fixture
def asker(apis: ApiProcesses) -> Api:
    return apis.started[0].person()


@contextmanager
def slow_run(asker: Api, apis: ApiProcesses) -> Iterator[tuple[Run, Reader]]:
    """A run whose model has said ``Hel`` and waits, and its reader at the other process."""
    with Run(asker, camel(run_body("Hello #slow"))) as run:
        run.until("TEXT_MESSAGE_CONTENT")
        reader = Reader(same_caller(asker, apis.started[1]), run.body["runId"])
        reader.until("TEXT_MESSAGE_CONTENT")
        yield run, reader


def check_same(run: Run, reader: Reader) -> None:
    events = run.finish()
    verify(events, thread_id=run.body["threadId"], run_id=run.body["runId"])
    assert events[-1]["type"] == "RUN_FINISHED"
    assert reader.finish() == run.frames


def test_nothing_is_lost_when_redis_is_flushed_in_mid_run(
    apis: ApiProcesses, asker: Api, redis_server: RedisServer, scripted_llm: ModelServer
):
    with slow_run(asker, apis) as (run, reader):
        redis_server.flush()
        scripted_llm.release.set()
        check_same(run, reader)


def test_nothing_is_lost_when_redis_is_killed_in_mid_run(
    apis: ApiProcesses, asker: Api, redis_server: RedisServer, scripted_llm: ModelServer
):
    with slow_run(asker, apis) as (run, reader):
        redis_server.kill()
        scripted_llm.release.set()
        check_same(run, reader)
    scripted_llm.release.clear()
    # Without it runs begin and are followed as well, and go on when it is back, empty.
    with slow_run(asker, apis) as (run, reader):
        redis_server.start()
        scripted_llm.release.set()
        check_same(run, reader)
