"""Administration of other people's API keys."""

from typing import Annotated

from fastapi import Depends

from api.accounts.schemas import ApiKeyAnswer, key_page
from api.dependencies import CurrentPrincipal, Reading, Writing, paging, requires
from api.http.errors import error_responses
from api.http.responses import Empty, Envelope, Items, Text
from api.http.routing import Router
from core.auth import api_keys, user_admin
from core.auth.permissions import Permission
from core.db.pagination import PageRequest
from core.errors.auth import ApiKeyNotFound, UserNotFound
from core.errors.requests import InvalidPagination

router = Router(prefix="/api/v1/admin/users/{user_id}/api-keys", tags=["administration"])
Manage = Depends(requires(Permission.USERS_MANAGE))


@router.get("", dependencies=[Manage], responses=error_responses(InvalidPagination, UserNotFound))
async def list_api_keys_of_user(
    user_id: Text, session: Reading, page: Annotated[PageRequest, Depends(paging(*api_keys.SORT_FIELDS))]
) -> Envelope[Items[ApiKeyAnswer]]:
    """One page of an account's API keys, without the keys themselves."""
    user, _ = await user_admin.find_account(session, user_id)
    return key_page(await api_keys.list_api_keys(session, user.id, page), page)


@router.delete("/{key_id}", dependencies=[Manage], responses=error_responses(UserNotFound, ApiKeyNotFound))
async def revoke_api_key_of_user(user_id: Text, key_id: Text, principal: CurrentPrincipal, work: Writing) -> Empty:
    """Revoke an account's API key and those made with it; they stop working at once."""
    await user_admin.revoke_user_api_key(work.session, principal, user_id, key_id)
    return Empty()
