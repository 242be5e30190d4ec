"""The reasoning of a turn as endpoints give it piece by piece and want it back whole (OpenRouter)."""

from pydantic import JsonValue

from agents.llm.base import ModelReasoningBlock
from core.json_access import as_object, as_text

# What is given in pieces; whatever else a block has, such as encrypted data, comes at once.
_TEXTS = {"reasoning.text": "text", "reasoning.summary": "summary"}


class ReasoningDetails:
    """Joins the ``reasoning_details`` of a stream's chunks to the blocks that they are pieces of.

    Signatures are over whole blocks: one that comes back in pieces is refused.
    """

    def __init__(self) -> None:
        self._blocks: list[dict[str, JsonValue]] = []

    def add(self, detail: JsonValue) -> None:
        """Take up one entry of a chunk."""
        piece = as_object(detail)
        if not piece:
            return
        last = self._blocks[-1] if self._blocks else {}
        field = _TEXTS.get(as_text(piece.get("type")))
        if field is None or any(last.get(one) != piece.get(one) for one in ("type", "index")):
            self._blocks.append(dict(piece))
            return
        told = {name: value for name, value in piece.items() if value is not None}
        last |= {**told, field: as_text(last.get(field)) + as_text(piece.get(field))}

    def close(self) -> list[ModelReasoningBlock]:
        """The blocks, in their order."""
        blocks, self._blocks = self._blocks, []
        return [ModelReasoningBlock(block) for block in blocks]
