"""The answer of ``/readyz`` when the check of a part fails by itself."""

import json
from typing import cast

import pytest

from api.container import AppContext
from api.system import health

pytestmark = pytest.mark.anyio


async def _fine(_context: AppContext) -> str:
    return "fine"


@pytest.mark.parametrize("fault", [KeyError("internal"), IndexError("internal"), ValueError()])
async def test_fault_of_a_check_is_no_word_of_the_part(monkeypatch: pytest.MonkeyPatch, fault: Exception):
    async def broken(_context: AppContext) -> str:
        raise fault

    monkeypatch.setattr(health, "CHECKS", {"redis": _fine, "engine": broken})
    answer = await health.ready(cast(AppContext, None))
    assert answer.status_code == 503
    assert json.loads(bytes(answer.body)) == {
        "status": "not_ready",
        "components": {
            "redis": {"status": "ok", "detail": "fine"},
            "engine": {"status": "error", "detail": "the check failed, see the log"},
        },
    }
