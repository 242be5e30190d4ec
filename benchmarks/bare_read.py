"""The baseline of reads: a route of FastAPI alone. ``python -m benchmarks.bare_read PORT``.

The same query on the same database and the same answer's model, without authentication, without
middleware, without the other routes. The database is that of the environment's settings.
"""

import os
import sys
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI

from agents.sessions import service as sessions
from api.agents.sessions import ListedSession
from api.dependencies import paging
from api.http.responses import Envelope, Items, page_of
from core.auth.principal import Principal
from core.db.database import open_database
from core.db.pagination import PageRequest
from core.settings import Settings

OWNER = "BENCHMARK_OWNER"


def _create_app() -> FastAPI:
    database = open_database(Settings())
    owner = Principal(os.environ[OWNER], "", "", frozenset())
    app = FastAPI()

    @app.get("/rows")
    async def rows(  # pyright: ignore[reportUnusedFunction] # FastAPI calls it
        page: Annotated[PageRequest, Depends(paging(*sessions.SORT_FIELDS))],
    ) -> Envelope[Items[ListedSession]]:
        async with database.reading() as session:
            listing = await sessions.list_sessions(session, owner, page)
        items = [
            ListedSession.model_validate({**row.model_dump(), "match": None, "interrupts": []}) for row in listing.items
        ]
        return page_of(items, page, total=listing.total)

    return app


if __name__ == "__main__":
    uvicorn.run(
        _create_app(),
        host="127.0.0.1",
        port=int(sys.argv[1]),
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="warning",
    )
