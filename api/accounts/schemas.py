"""API keys in answers, without the keys (docs/reference/agentex-api.md, section 3.4)."""

from datetime import datetime

from api.http.responses import Envelope, Items, ResponseModel, page_of
from core.auth.api_keys import ApiKeyListing
from core.db.pagination import PageRequest


class ApiKeyAnswer(ResponseModel):
    """A key as lists show it."""

    id: str
    name: str
    key_prefix: str
    scopes: list[str] | None
    last_used_at: datetime | None
    expires_at: datetime | None
    created_at: datetime


def key_page(listing: ApiKeyListing, page: PageRequest) -> Envelope[Items[ApiKeyAnswer]]:
    """One page of an account's keys."""
    items = [ApiKeyAnswer.model_validate(row, from_attributes=True) for row in listing.items]
    return page_of(items, page, total=listing.total)
