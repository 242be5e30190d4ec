"""Target of an import: the local embedding model and the new knowledge base's row."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from core.auth.principal import Principal
from core.db.unit_of_work import UnitOfWork
from core.errors.requests import InvalidArchive
from core.types.document_parsers import BUILT_IN, PARSERS_BY_NAME
from kb_service.embedding_spaces import EmbeddingSpaces
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.knowledge_bases.service import KnowledgeBaseDraft
from kb_service.models import KnowledgeBase, SplitterName
from kb_service.retrieval.request import RetrievalOptions
from kb_service.transfer.archive_format import Extent, KnowledgeBaseSettings
from kb_service.transfer.jobs import TransferSpec


@dataclass(frozen=True)
class ImportTarget:
    """A knowledge base to be created here."""

    name: str
    settings: KnowledgeBaseSettings
    embedding_model: str
    extent: Extent

    @property
    def embeds_anew(self) -> bool:
        """Whether its model is not served here, so that its documents are re-indexed."""
        return self.embedding_model != self.settings.embedding_model

    def cargo(self, kind: str, source: str) -> TransferSpec:
        return TransferSpec(kind, source, self.extent.original_bytes, self.facts)

    @property
    def facts(self) -> Mapping[str, Any]:
        return {
            "name": self.name,
            "documents": self.extent.documents,
            "embeds_anew": self.embeds_anew,
            "embedding_model": self.embedding_model,
        }


def plan_import(
    settings: KnowledgeBaseSettings, dimension: int, spaces: EmbeddingSpaces, *, extent: Extent, name: str | None = None
) -> ImportTarget:
    """Decide how a knowledge base is imported.

    Raises:
        InvalidArchive: its vectors do not fit the model that it names.
    """
    space = spaces.get(settings.embedding_model)
    if space is not None and space.model.dimension != dimension:
        raise InvalidArchive("its vectors are not of its embedding model's dimension")
    return ImportTarget(
        name=knowledge_bases.clean_name(settings.name if name is None else name),
        settings=settings,
        embedding_model=(space or spaces.default).model.name,
        extent=extent,
    )


async def create_target(work: UnitOfWork, principal: Principal, arrival: ImportTarget) -> KnowledgeBase:
    """Create the new knowledge base: private, and disabled until everything is imported."""
    settings = arrival.settings
    has_splitter = settings.splitter in set(SplitterName)
    has_parser = settings.parser in {BUILT_IN, *PARSERS_BY_NAME}
    draft = KnowledgeBaseDraft(
        name=arrival.name,
        description=settings.description,
        splitter=settings.splitter if has_splitter else None,
        chunk_size=settings.chunk_size,
        chunk_overlap=settings.chunk_overlap,
        parser=settings.parser if has_parser else None,
        strategy=settings.strategy if has_parser else None,
        is_public=False,
        enabled=False,
    )
    row = await knowledge_bases.create(work, principal, draft, embedding_model=arrival.embedding_model)
    row.retrieval = _known_options(settings.retrieval)
    work.session.add(row)
    return row


def _known_options(options: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return RetrievalOptions.model_validate(dict(options)).choices()
    except ValidationError:
        # From another version: defaults are better than a failed import.
        return {}
