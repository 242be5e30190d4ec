"""Hostile documents over HTTP: the answer of the table, and a good document right afterwards."""

import time
from collections.abc import Callable

import pytest

from core.errors import ErrorCode
from tests.fixtures.client import Api, check_error, check_success
from tests.fixtures.hostile import TABLE, ok
from tests.fixtures.server import Server

# The table's figures, with room for a machine that runs other tests as well.
_UPLOAD_SECONDS = 5 * 3
_END_SECONDS = 60 * 3
_GOOD_SECONDS = 10 * 3


@pytest.fixture(scope="module")
def api(servers: Callable[[str], Server]) -> Api:
    return servers("embedded").person()


@pytest.fixture(scope="module")
def kb(api: Api) -> str:
    return api.create_kb()


@pytest.mark.parametrize("name", TABLE)
def test_row_is_answered_as_the_table_says(api: Api, kb: str, name: str):
    row = TABLE[name]
    content = row.make()
    started = time.monotonic()
    answer = api.send_file(kb, name, content, "application/octet-stream")
    assert time.monotonic() - started < _UPLOAD_SECONDS
    if isinstance(row.want, ErrorCode):
        check_error(answer, row.want)
    else:
        end = api.wait(kb, check_success(answer)["id"], seconds=_END_SECONDS)
        wanted = row.want if isinstance(row.want, tuple) else (row.want,)
        found = end["failure"]["reason"] if end["status"] == "failed" else end["status"]
        assert found in wanted
        if end["status"] == "failed":
            assert end["chunk_count"] == 0
            assert all(end["failure"][f] for f in ("message_zh", "next_action", "next_action_zh"))
        else:
            assert end["chunk_count"] > 0
    good = api.upload(kb, f"ok after {name}.docx", ok())
    assert api.wait(kb, good, seconds=_GOOD_SECONDS)["status"] == "completed"
