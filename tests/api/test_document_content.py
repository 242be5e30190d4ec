"""The download of a file that is deleted at the same moment."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from api.knowledge_bases.document_content import stored_file
from core.db.types import new_id
from core.errors.auth import DocumentNotFound
from kb_service.models import Document
from kb_service.object_storage.local import LocalObjectStore
from tests.fixtures.knowledge.stored_documents import blocks

pytestmark = pytest.mark.anyio
CONTENT = b"zebra " * 50_000


async def stored(store: LocalObjectStore) -> Document:
    key = new_id()
    await store.write(key, blocks(CONTENT))
    return Document(
        knowledge_base_id="kb",
        name="a.md",
        file_type="markdown",
        media_type="text/markdown",
        file_size=len(CONTENT),
        sha256="0" * 64,
        storage_key=key,
    )


class Hasty(LocalObjectStore):
    """One whose files are deleted between the look and the reading."""

    @asynccontextmanager
    async def local_copy(self, key: str) -> AsyncGenerator[Path]:
        async with super().local_copy(key) as path:
            await self.delete(key)
            yield path


async def test_file_that_is_gone_before_it_is_opened_is_not_found(tmp_path: Path):
    store = Hasty(tmp_path)
    with pytest.raises(DocumentNotFound):
        await stored_file(store, await stored(store))


@pytest.mark.parametrize(
    ("headers", "status", "part"),
    [({}, 200, CONTENT), ({"Range": "bytes=6-200005"}, 206, CONTENT[6:200_006])],
)
async def test_file_that_is_deleted_before_the_first_byte_comes_whole(
    tmp_path: Path, headers: dict[str, str], status: int, part: bytes
):
    store = LocalObjectStore(tmp_path)
    document = await stored(store)
    response = await stored_file(store, document)
    await store.delete(document.storage_key)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(response), base_url="http://test") as client:
        answer = await client.get("/", headers=headers)
    assert (answer.status_code, answer.content) == (status, part)
    assert answer.headers["content-length"] == str(len(part))
