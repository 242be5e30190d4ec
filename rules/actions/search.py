"""The action that searches knowledge bases; later actions use what it found."""

from typing import ClassVar

from pydantic import JsonValue

from core.auth.permissions import Permission
from core.errors.base import AgentexError
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.retrieval.request import MAX_TOP_K
from rules.actions.base import ActionCall, ActionFailed, ActionServices, Reason, ids_of, reason_of, text_of

_LONGEST_QUERY = 2000
_SHOWN_CHARACTERS = 500


class SearchHandler:
    """Searches for ``query`` in ``knowledge_base_ids``, or in all that the owner reads."""

    TYPE: ClassVar[str] = "search"
    IS_REPEATABLE: ClassVar[bool] = True

    async def missing(self, services: ActionServices, call: ActionCall) -> list[Reason]:
        try:
            call.owner.require(Permission.KB_VIEW)
            text_of(call.params, "query", longest=_LONGEST_QUERY)
            async with services.database.reading() as session:
                await knowledge_bases.get_searchable(session, call.owner, ids_of(call.params, "knowledge_base_ids"))
        except ActionFailed as failure:
            return [failure.reason]
        except AgentexError as error:
            return [reason_of(error)]
        return []

    async def execute(self, services: ActionServices, call: ActionCall) -> JsonValue:
        call.owner.require(Permission.KB_VIEW)
        query = text_of(call.params, "query", longest=_LONGEST_QUERY)
        async with services.database.reading() as session:
            ids = ids_of(call.params, "knowledge_base_ids")
            rows = await knowledge_bases.get_searchable(session, call.owner, ids)
        request = services.searcher.resolve(rows, query, top_k=_top_k(call.params.get("top_k")))
        result = await services.searcher.search(call.owner, rows, request)
        return {
            "passages": [
                {
                    "chunk_id": passage.chunk.id,
                    "document_id": passage.chunk.document_id,
                    "document_name": passage.document_name,
                    "score": round(passage.hit.score, 4),
                    "text": passage.chunk.content[:_SHOWN_CHARACTERS],
                }
                for passage in result.passages
            ]
        }


def _top_k(value: JsonValue) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MAX_TOP_K:
        raise ActionFailed(
            f"`params.top_k` must be a whole number from 1 to {MAX_TOP_K}",
            f"`params.top_k` 必须是 1 到 {MAX_TOP_K} 之间的整数",
        )
    return value
