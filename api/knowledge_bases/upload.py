"""Multipart uploads of documents: the form, the service, and the answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, Query
from starlette.datastructures import UploadFile

from api.container import AppContext
from api.http.multipart import read_blocks
from api.http.responses import Text
from api.knowledge_bases.schemas import UploadAnswer, document_answer
from core.types.document_parsers import BUILT_IN, PARSERS_BY_NAME
from ingestion.parsers.sandbox.client import parse_limits
from ingestion.upload import UploadFile as ReceivedFile
from ingestion.upload import UploadService
from kb_service.documents.upload import OnConflict, UploadResult

_FILE: dict[str, object] = {"type": "string", "format": "binary"}

_PARSER = "Reads the formats that it can, in place of the knowledge base's parser: of those in `GET /api/v1/parsers`."
_STRATEGY = "How that parser reads: one of its strategies there."

FORM_FIELDS: dict[str, Any] = {
    "on_conflict": {
        "type": "string",
        "enum": [choice.value for choice in OnConflict],
        "description": "Wins over the query parameter of this name.",
    },
    "metadata": {
        "type": "string",
        "description": "A JSON object: up to 20 keys with texts, numbers, truth values or "
        "lists of texts, which searches can filter by.",
    },
    "parser": {
        "type": "string",
        "enum": [BUILT_IN, *PARSERS_BY_NAME],
        "description": f"{_PARSER} Wins over the query parameter of this name.",
    },
    "strategy": {
        "type": "string",
        "description": f"{_STRATEGY} Wins over the query parameter of this name.",
    },
}
"""What an upload's form may hold beside files, as OpenAPI describes it."""


def files_body(*, many: bool) -> dict[str, Any]:
    """OpenAPI's description of an upload form with one file or many."""
    fields = {**FORM_FIELDS, "file": {"type": "array", "items": _FILE} if many else _FILE}
    schema = {"type": "object", "required": ["file"], "properties": fields, "additionalProperties": False}
    content = {"multipart/form-data": {"schema": schema}}
    return {"requestBody": {"required": True, "content": content}}


def upload_service(context: AppContext) -> UploadService:
    """The upload service of this process."""
    return UploadService(
        context.database, context.knowledge.store, context.live, parse_limits(context.settings), context.queue.push
    )


@dataclass(frozen=True)
class UploadDefaults:
    """What holds where a form has no field of that name."""

    on_conflict: str
    parser: str | None
    strategy: str | None

    def options(self, fields: Mapping[str, str]) -> dict[str, Any]:
        """The choices for files with these fields; a parser brings its own strategy."""
        parser = fields.get("parser")
        return {
            "on_conflict": fields.get("on_conflict", self.on_conflict),
            "parser": parser or self.parser,
            "strategy": fields.get("strategy", None if parser else self.strategy),
        }


async def _upload_defaults(
    on_conflict: OnConflict = OnConflict.REPLACE,
    parser: Annotated[Text | None, Query(max_length=50, description=_PARSER)] = None,
    strategy: Annotated[Text | None, Query(max_length=50, description=_STRATEGY)] = None,
) -> UploadDefaults:
    return UploadDefaults(on_conflict, parser, strategy)


UploadQuery = Annotated[UploadDefaults, Depends(_upload_defaults)]
"""The query of an upload."""


def received_file(
    file: UploadFile, fields: Mapping[str, str], defaults: UploadDefaults, *, is_cut: bool = False
) -> ReceivedFile:
    """A spooled file with its fields."""
    return ReceivedFile(
        name=file.filename or "",
        size=file.size or 0,
        file=file.file,
        blocks=partial(read_blocks, file),
        metadata=fields.get("metadata"),
        **defaults.options(fields),
        is_cut=is_cut,
    )


def upload_answer(result: UploadResult) -> UploadAnswer:
    """A document with the outcome of its upload."""
    document = document_answer(result.document, result.knowledge_base)
    return UploadAnswer(**document.model_dump(), outcome=result.outcome)
