"""The parsers that a knowledge base or a document may choose."""

from fastapi import Depends

from api.dependencies import CurrentContext, requires
from api.http.responses import Envelope, ResponseModel
from api.http.routing import Router
from core.auth.permissions import Permission
from core.types.document_parsers import BUILT_IN, PARSERS_BY_NAME
from ingestion.parsers.choice import available_parsers

router = Router(prefix="/api/v1/parsers", tags=["documents"])
View = Depends(requires(Permission.KB_VIEW))


class ParserAnswer(ResponseModel):
    """A parser; ``strategies`` is empty where it reads in one way, ``available`` says whether it is switched on."""

    name: str
    strategies: list[str]
    available: bool


class ParsersAnswer(ResponseModel):
    """All parsers, the built-in ones first."""

    items: list[ParserAnswer]


@router.get("", dependencies=[View])
async def list_parsers(context: CurrentContext) -> Envelope[ParsersAnswer]:
    """The parsers that a knowledge base or a document may choose.

    The operator switches on those that are not built in, by `AGENTEX_PARSERS`.
    """
    available = available_parsers(context.settings)
    items = [ParserAnswer(name=BUILT_IN, strategies=[], available=True)]
    items += [
        ParserAnswer(name=parser.name, strategies=list(parser.strategies), available=parser.name in available)
        for parser in PARSERS_BY_NAME.values()
    ]
    return Envelope(data=ParsersAnswer(items=items))
