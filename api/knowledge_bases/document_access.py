"""Permissions of a single document."""

from collections.abc import Sequence
from datetime import datetime

from fastapi import Depends
from pydantic import Field

from api.dependencies import CurrentPrincipal, Reading, Writing, requires
from api.http.errors import error_responses
from api.http.responses import Empty, Envelope, RequestModel, ResponseModel, Text
from api.http.routing import Router
from api.http.sharing_schemas import SharedRole, SharedUser, SubjectBody
from core.auth.permissions import Permission
from core.auth.principal import Access
from core.auth.sharing import MAX_SHARES, ShareEntry, ShareSpec
from core.errors.auth import DocumentNotFound, KnowledgeBaseNotFound, OwnerOnly, ReadOnly
from core.errors.conflicts import Conflict, DocumentNameTaken
from core.errors.requests import InvalidRequest
from kb_service.documents import permissions
from kb_service.documents.permissions import DocumentAcl, DocumentAclUpdate

router = Router(prefix="/api/v1/knowledge-bases/{kb_id}/documents/{doc_id}/access", tags=["documents"])
View = Depends(requires(Permission.KB_VIEW))
Write = Depends(requires(Permission.KB_WRITE))
_MISSING = (ReadOnly, OwnerOnly, KnowledgeBaseNotFound, DocumentNotFound)


class ReaderAnswer(ResponseModel):
    """A person or a role whose bearers read a restricted document."""

    user: SharedUser | None
    role: SharedRole | None
    created_at: datetime


class AccessAnswer(ResponseModel):
    """Whether a document is restricted and, where it is, to whom beside the owner.

    ``items`` are those whom the owner named, if it is restricted ``by_hand``. ``source_readers`` are lists of its source,
    null where that restricts nothing: addresses of people and ``role:NAME``. A reader must be in each list, an empty one
    admits nobody, and whom either side keeps out stays out.
    """

    restricted: bool
    by_hand: bool
    source_readers: list[list[str]] | None
    items: list[ReaderAnswer]
    total: int
    version: str


class ReaderBody(SubjectBody):
    """A person, by id or by user name, or a role, by its name."""

    def to_spec(self) -> ShareSpec:
        return ShareSpec(Access.READ, self.user_id, self.username, self.role)


class AccessBody(RequestModel):
    """Everyone who is to read it beside the owner; nobody: the owner alone."""

    readers: list[ReaderBody] = Field(max_length=MAX_SHARES)
    version: Text | None = Field(
        default=None, max_length=100, description="Of the readers as they were read; refused if they changed"
    )

    def to_update(self) -> DocumentAclUpdate:
        return DocumentAclUpdate([reader.to_spec() for reader in self.readers], self.version)


def _reader(share: ShareEntry) -> ReaderAnswer:
    return ReaderAnswer(user=SharedUser.of(share.user), role=SharedRole.of(share.role), created_at=share.since)


def _answer(acl: DocumentAcl) -> Envelope[AccessAnswer]:
    items: Sequence[ReaderAnswer] = [_reader(share) for share in acl.readers]
    answer = AccessAnswer(
        restricted=acl.restricted,
        by_hand=acl.by_hand,
        source_readers=None if acl.source_levels is None else [[*each] for each in acl.source_levels],
        items=[*items],
        total=len(items),
        version=acl.version,
    )
    return Envelope(data=answer)


@router.get("", dependencies=[View], responses=error_responses(*_MISSING))
async def read_access(
    kb_id: Text, doc_id: Text, principal: CurrentPrincipal, session: Reading
) -> Envelope[AccessAnswer]:
    """Who reads a document of one's own knowledge base."""
    return _answer(await permissions.get_acl(session, principal, kb_id, doc_id))


@router.put("", dependencies=[Write], responses=error_responses(InvalidRequest, Conflict, *_MISSING))
async def restrict_document(
    kb_id: Text, doc_id: Text, body: AccessBody, principal: CurrentPrincipal, work: Writing
) -> Envelope[AccessAnswer]:
    """Let only these read a document of one's own knowledge base.

    They read it as far as they read the knowledge base; whoever may write there may change it,
    too. For everybody else but the owner it is from now on as if it were not there.
    """
    return _answer(await permissions.restrict(work, principal, kb_id, doc_id, body.to_update()))


@router.delete("", dependencies=[Write], responses=error_responses(*_MISSING, DocumentNameTaken, Conflict))
async def open_document(kb_id: Text, doc_id: Text, principal: CurrentPrincipal, work: Writing) -> Empty:
    """Let all who read the knowledge base read the document again; refused where only its source restricts it."""
    await permissions.unrestrict(work, principal, kb_id, doc_id)
    return Empty()
