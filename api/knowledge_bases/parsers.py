"""The parsers that a knowledge base or a document may choose."""

from anyio import to_thread
from fastapi import Depends

from api.dependencies import CurrentContext, requires
from api.http.responses import Envelope, ResponseModel
from api.http.routing import Router
from core.auth.permissions import Permission
from core.settings import Settings
from core.types.document_parsers import BUILT_IN, PARSERS_BY_NAME
from ingestion.parsers.choice import available_parsers
from ingestion.parsers.external import missing_parts

router = Router(prefix="/api/v1/parsers", tags=["documents"])
View = Depends(requires(Permission.KB_VIEW))


class ParserAnswer(ResponseModel):
    """A parser; ``strategies`` is empty where it reads in one way, ``available`` says whether it is switched on.

    ``missing`` names what strategies need and this server lacks; documents for these fail with `parser_missing`.
    """

    name: str
    strategies: list[str]
    available: bool
    missing: dict[str, list[str]]


class ParsersAnswer(ResponseModel):
    """All parsers, the built-in ones first."""

    items: list[ParserAnswer]


@router.get("", dependencies=[View])
async def list_parsers(context: CurrentContext) -> Envelope[ParsersAnswer]:
    """The parsers that a knowledge base or a document may choose.

    The operator switches on those that are not built in, by `AGENTEX_PARSERS`.
    """
    items = [ParserAnswer(name=BUILT_IN, strategies=[], available=True, missing={})]
    return Envelope(data=ParsersAnswer(items=[*items, *await to_thread.run_sync(_optional_parsers, context.settings)]))


def _optional_parsers(settings: Settings) -> list[ParserAnswer]:
    available = available_parsers(settings)
    return [
        ParserAnswer(
            name=parser.name,
            strategies=list(parser.strategies),
            available=parser.name in available,
            missing={strategy: list(parts) for strategy, parts in missing_parts(parser.name, settings).items()}
            if parser.name in available
            else {},
        )
        for parser in PARSERS_BY_NAME.values()
    ]
