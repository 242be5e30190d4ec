"""Response envelopes (docs/reference/agentex-api.md, section 1.3) and text types."""

from typing import Annotated, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

from core.db.pagination import PageRequest
from core.text.sanitize import Storable, refuse_half_characters
from core.types.strict import StrictJsonModel

T = TypeVar("T")


Secret = Annotated[str, AfterValidator(refuse_half_characters)]
"""A password or token from a caller: any character counts."""

Text = Storable
"""Text from a caller."""


class ResponseModel(BaseModel):
    """Base of what routes answer with; its schema is made when the first answer needs it."""

    model_config = ConfigDict(defer_build=True)


class RequestModel(StrictJsonModel):
    """Base of request bodies: unknown fields are refused, so that nobody sets what isn't theirs."""

    model_config = ConfigDict(extra="forbid")


class Envelope(ResponseModel, Generic[T]):
    """A successful answer."""

    code: int = 0
    message: str = "success"
    data: T


class Empty(ResponseModel):
    """A successful answer without data (seed 002, section 2.4)."""

    code: int = 0
    message: str = "success"


class Items(ResponseModel, Generic[T]):
    """One page of a list."""

    items: list[T]
    total: int
    page: int
    page_size: int
    pages: int


class ErrorBody(ResponseModel):
    """An answer that says what went wrong."""

    code: int = Field(examples=[40001])
    message: str = Field(examples=["Invalid request parameters"])
    details: dict[str, JsonValue] = Field(
        default_factory=dict, examples=[{"field": "email", "error": "Invalid email format"}]
    )


def page_of(items: list[T], page: PageRequest, *, total: int) -> Envelope[Items[T]]:
    """Wrap one page of a list of ``total`` items."""
    pages = -(-total // page.size)
    return Envelope(data=Items(items=items, total=total, page=page.number, page_size=page.size, pages=pages))
