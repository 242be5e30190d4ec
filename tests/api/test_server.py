"""The start of the API process: file limits, keep-alive."""

import resource

import pytest

from api.app import create_app
from api.server import DrainingServer, raise_open_files
from core.settings import Settings


def test_api_may_open_as_many_files_as_the_system_lets_it():
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before - 1, hard))
        raise_open_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (min(hard, 65_536), hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))


def test_api_starts_where_the_system_names_no_limit_that_can_be_set(
    monkeypatch: pytest.MonkeyPatch,
):
    asked: list[tuple[int, int]] = []

    def refusing(_kind: int, limits: tuple[int, int]) -> None:
        asked.append(limits)
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refusing)
    raise_open_files()
    assert asked == [(65_536, resource.RLIM_INFINITY)]


def test_idle_connections_are_kept_for_longer_than_load_balancers_use_them(tmp_path):
    settings = Settings(_env_file=None, data_dir=tmp_path)
    server = DrainingServer(create_app(settings), settings)
    # AWS ALB and nginx: 60 s.
    assert server.config.timeout_keep_alive > 60
