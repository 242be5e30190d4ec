"""The system in figures (docs/reference/agentex-api.md, section 11.3), for administrators."""

import re
from typing import Any

from core.errors.auth import PermissionDenied
from tests.fixtures.http.client import Api, conforms, eventually
from tests.fixtures.product.server import Server


def test_example_of_the_reference_document_and_what_was_added(server: Server, user: Api):
    kb_id = user.create_kb()
    user.ingest(kb_id, "a.md", "# Zebra\n\nA zebra sleeps standing up.")
    admin = server.admin()
    there = "SELECT count(*) AS number FROM \"user\" WHERE status <> 'deleted'"

    def fresh() -> dict[str, Any] | None:
        # What was counted for somebody else just now is shown for ten seconds.
        found = admin.get("/admin/system/info")
        return found if found["user_count"] == server.sql(there)[0]["number"] else None

    info = eventually(fresh, seconds=30, what="the figures are counted anew", pause=1)
    example = {
        "version": "1.0.0",
        "uptime": 86400,
        "user_count": 50,
        "session_count": 1200,
        "database_size": "1.2 GB",
        "vector_db_size": "500 MB",
    }
    conforms(info, example)
    for name in ("database_size", "vector_db_size"):
        assert re.fullmatch(r"\d+(\.\d)? (B|KB|MB|GB|TB)", info[name]), info[name]
    assert info["knowledge_base_count"] >= 1
    assert info["documents"]["completed"] >= 1
    assert info["vector_count"] >= 1
    assert len(info["workers"]) == 1
    assert info["queue_depth"] is not None
    assert min(info["database_bytes"], info["vector_db_bytes"]) > 0
    details = user.refused(PermissionDenied, "GET", "/admin/system/info")
    assert details == {"permission": "system:manage"}
