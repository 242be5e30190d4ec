"""The audit log, for administrators: search, filters, export."""

import csv
import io
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict, replace
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Query
from pydantic import JsonValue, TypeAdapter

from api.dependencies import CurrentDatabase, Reading, paging, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, Items, ResponseModel, Text, page_of
from api.http.routing import Router
from api.streaming.response import ExportResponse
from core.audit.log import AuditAction, audit
from core.audit.models import AuditEntry
from core.audit.queries import SORT_FIELDS, AuditFilter, iterate_batches, list_page
from core.auth.permissions import Permission
from core.db.database import Database
from core.db.pagination import PageRequest
from core.db.unit_of_work import unit_of_work
from core.errors.requests import InvalidPagination, InvalidRequest
from core.text.csv_escape import escape_cell
from core.types.datetimes import Moment

router = Router(
    prefix="/api/v1/system/audit", tags=["system"], dependencies=[Depends(requires(Permission.SYSTEM_MANAGE))]
)
_FILTER = TypeAdapter(dict[str, JsonValue | datetime])
_CSV = "text/csv; charset=utf-8"
_COLUMNS = (
    "created_at", "action", "actor_id", "actor_name", "object_type", "object_id", "object_name",
    "address", "request_id", "details",
)  # fmt: skip


class AuditAnswer(ResponseModel):
    """An act: who did what to what, when, from where, in which request."""

    id: str
    created_at: datetime
    action: str
    actor_id: str | None
    actor_name: str
    object_type: str
    object_id: str
    object_name: str
    address: str
    request_id: str
    details: dict[str, JsonValue]


_Word = Annotated[Text, Query(max_length=200)]


async def _base_filter(
    q: Annotated[Text, Query(max_length=200, description="Part of an action, name, id, address or request id")] = "",
    actor: Annotated[Text, Query(max_length=200, description="An account's id or name")] = "",
    object_type: _Word = "",
    object_id: _Word = "",
) -> AuditFilter:
    return AuditFilter(q.strip(), (), actor, object_type, object_id)


async def _filter(
    filters: Annotated[AuditFilter, Depends(_base_filter)],
    action: Annotated[list[AuditAction], Query(description="Any of these")] = [],  # noqa: B006 - FastAPI copies it
    since: Annotated[Moment | None, Query(description="Not before")] = None,
    until: Annotated[Moment | None, Query(description="Before")] = None,
) -> AuditFilter:
    actions = tuple(item.value for item in action)
    return replace(filters, actions=actions, since=since, until=until)


Filter = Annotated[AuditFilter, Depends(_filter)]


@router.get("", responses=error_responses(InvalidRequest, InvalidPagination))
async def list_audit(
    session: Reading, filters: Filter, page: Annotated[PageRequest, Depends(paging(*SORT_FIELDS))]
) -> Envelope[Items[AuditAnswer]]:
    """One page of the log, the newest act first."""
    listing = await list_page(session, filters, page)
    items = [AuditAnswer.model_validate(row.model_dump()) for row in listing.items]
    return page_of(items, page, total=listing.total)


@router.get(
    "/export", response_class=ExportResponse, responses={200: {"content": {_CSV: {"schema": {"type": "string"}}}}}
)
async def export_audit(database: CurrentDatabase, filters: Filter) -> ExportResponse:
    """All acts that are wanted as CSV, the newest first; no cell is run by a spreadsheet."""
    # Audited first, so that the export itself is in the exported log.
    async with unit_of_work(database) as work:
        audit(work.session, AuditAction.AUDIT_EXPORTED, details=_audit_details(filters))
    headers = {"Content-Disposition": 'attachment; filename="audit.csv"'}
    blocks = _csv_blocks(database, filters)
    # Errors before the first block can still be answered.
    first = await anext(blocks)
    return ExportResponse(_continued(first, blocks), media_type=_CSV, headers=headers)


def _audit_details(filters: AuditFilter) -> dict[str, JsonValue]:
    filled = {key: value for key, value in asdict(filters).items() if value}
    return _FILTER.dump_python(filled, mode="json")


async def _continued(first: bytes, blocks: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    async with aclosing(blocks):
        yield first
        async for block in blocks:
            yield block


async def _csv_blocks(database: Database, filters: AuditFilter) -> AsyncGenerator[bytes]:
    # Without the byte order mark spreadsheets assume a legacy encoding.
    head = "\ufeff" + _lines([list(_COLUMNS)])
    async with aclosing(iterate_batches(database, filters)) as batches:
        async for rows in batches:
            yield (head + _lines([_cells(row) for row in rows])).encode()
            head = ""
    if head:
        yield head.encode()


def _cells(row: AuditEntry) -> list[str]:
    fields = row.model_dump()
    fields["created_at"] = row.created_at.isoformat()
    fields["details"] = json.dumps(row.details, ensure_ascii=False) if row.details else ""
    return [escape_cell(str(fields[name] or "")) for name in _COLUMNS]


def _lines(rows: list[list[str]]) -> str:
    file = io.StringIO(newline="")
    csv.writer(file).writerows(rows)
    return file.getvalue()
