"""What an authenticated read costs: ``python -m benchmarks.authenticated``.

Processor time of a request that reads 20 rows, of the API's process with its threads, against the
same query in a route of FastAPI alone (``bare_read``).
"""

import httpx
import psutil

from benchmarks.bare_read import OWNER
from benchmarks.product import running_product
from benchmarks.runs.setting import api_of, processor_seconds, program
from benchmarks.table import Row, show, taking_turns

_ROWS = 20
_REQUESTS = 400
_ROUNDS = 5


def run() -> list[Row]:
    """Processor time of one read with a token, and with an API key."""
    with (
        running_product() as product,
        httpx.Client(base_url=f"{product.url}/api/v1", timeout=60) as http,
    ):
        body = {"username": product.username, "password": product.password}
        login = _data(http.post("/auth/login", json=body))
        token = {"Authorization": f"Bearer {login['access_token']}"}
        for number in range(_ROWS):
            _data(http.post("/sessions", json={"title": f"Session {number}"}, headers=token))
        key = _data(http.post("/users/me/api-keys", json={"name": "bench"}, headers=token))["key"]
        bare = {OWNER: login["user"]["id"], "AGENTEX_DATA_DIR": str(product.data_dir)}
        with program("benchmarks.bare_read", bare) as (port, pid):
            theirs = psutil.Process(pid)
            url = f"http://127.0.0.1:{port}/rows"
            return [
                _row(what, api_of(product), theirs, http, (url, headers))
                for what, headers in (("a token", token), ("an API key", {"X-API-Key": key}))
            ]


def _row(
    what: str,
    api: psutil.Process,
    bare: psutil.Process,
    http: httpx.Client,
    asked: tuple[str, dict[str, str]],
) -> Row:
    url, headers = asked
    ours, theirs = taking_turns(
        lambda: _cost(api, http, "/sessions", headers),
        lambda: _cost(bare, http, url, {}),
        rounds=_ROUNDS,
    )
    return Row(
        f"read of {_ROWS} rows with {what}, processor time",
        f"{1000 * ours:.2f} ms",
        f"bare FastAPI route {1000 * theirs:.2f} ms",
        theirs / ours,
    )


def _cost(process: psutil.Process, http: httpx.Client, url: str, headers: dict[str, str]) -> float:
    """Processor seconds of one request, on average."""
    before = processor_seconds(process)
    for _ in range(_REQUESTS):
        answer = http.get(url, params={"page_size": _ROWS}, headers=headers)
        if len(_data(answer)["items"]) != _ROWS:
            raise AssertionError(f"{url} gives other rows")
    return (processor_seconds(process) - before) / _REQUESTS


def _data(answer: httpx.Response) -> dict:
    answer.raise_for_status()
    return answer.json()["data"]


if __name__ == "__main__":
    show(run())
