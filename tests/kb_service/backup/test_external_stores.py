"""Backups between files in folders and in S3, and between vectors in a shard and in a Qdrant server.

No Qdrant server can be had from a registry: the adapter works on the client's in-memory mode here.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr
from qdrant_client import AsyncQdrantClient

from core.db.database import Database
from core.settings import Settings
from kb_service.backup.create import BackupCreator, BackupSource
from kb_service.backup.errors import BackupError, BackupFault
from kb_service.backup.manifest import BackupManifest
from kb_service.backup.points import PointStore
from kb_service.backup.repository import BackupRepository, create_repository
from kb_service.backup.restore import BackupRestorer, RestoreTarget, require_empty_files, require_empty_points
from kb_service.backup.verify import verify
from kb_service.embeddings.catalog import DEFAULT
from kb_service.object_storage.factory import open_object_store
from kb_service.object_storage.protocol import ObjectStore
from kb_service.vector_index.qdrant_server import QdrantVectorIndex
from migrations.apply import migrate
from migrations.level import revisions
from migrations.tables import all_tables
from tests.fixtures.database.databases import one_database
from tests.fixtures.knowledge.backups import SECRET_KEY, Installation
from tests.fixtures.servers.s3_server import S3Server, s3_server

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server


@pytest.fixture
async def qdrant() -> AsyncIterator[QdrantVectorIndex]:
    index = QdrantVectorIndex(AsyncQdrantClient(":memory:"), DEFAULT.name, DEFAULT.dimension)
    yield index
    await index.close()


def bucket(s3: S3Server) -> ObjectStore:
    """The store of a deployment whose files are in S3."""
    settings = Settings(
        _env_file=None,
        object_store_url=f"s3://{s3.bucket}/files",
        object_store_endpoint=s3.endpoint,
        object_store_access_key=SecretStr("key"),
        object_store_secret_key=SecretStr("secret"),
    )
    return open_object_store(settings)


async def back_up(
    database: Database, files: ObjectStore, points: PointStore, repository: BackupRepository
) -> BackupManifest:
    tables, revision = all_tables(), revisions()[-1]
    source = BackupSource(database, files, {DEFAULT.name: points}, tables, revision, "1.0", SECRET_KEY)
    with repository.writing():
        return await BackupCreator(source, repository).create()


async def restore(
    repository: BackupRepository, manifest: BackupManifest, database: Database, files: ObjectStore, points: PointStore
) -> None:
    dimensions = {DEFAULT.name: DEFAULT.dimension}
    target = RestoreTarget(database, files, {DEFAULT.name: points}, dimensions, revisions(), migrate)
    await BackupRestorer(repository, manifest, target).restore()


@one_database
@pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")
async def test_files_and_points_go_to_external_stores_and_come_back(
    database: Database, tmp_path: Path, s3: S3Server, qdrant: QdrantVectorIndex
):
    source = Installation(tmp_path / "source", database)
    documents = [await source.add(text) for text in ("plum", "pear " * 400_000)]
    first = create_repository(tmp_path / "first", None)
    manifest = await back_up(database, source.files, source.shard, first)

    files = bucket(s3)
    await require_empty_files(files)
    await require_empty_points({DEFAULT.name: qdrant})
    scaled_out = Database(f"sqlite+aiosqlite:///{tmp_path / 'scaled-out.db'}")
    await restore(first, manifest, scaled_out, files, qdrant)
    assert sorted(await files.keys()) == sorted(document.storage_key for document in documents)
    with pytest.raises(BackupError) as caught:
        await require_empty_files(files)
    assert caught.value.fault is BackupFault.FILES_NOT_EMPTY
    with pytest.raises(BackupError) as caught:
        await require_empty_points({DEFAULT.name: qdrant})
    assert caught.value.fault is BackupFault.VECTORS_NOT_EMPTY

    second = create_repository(tmp_path / "second", None)
    manifest = await back_up(scaled_out, files, qdrant, second)
    assert (manifest.unindexed, verify(second, second.backup_ids()).findings) == ((), [])
    (tmp_path / "target").mkdir()
    target = Installation(tmp_path / "target", Database(f"sqlite+aiosqlite:///{tmp_path / 'target.db'}"))
    await restore(second, manifest, target.database, target.files, target.shard)
    for document in documents:
        assert await target.text(document.storage_key) == await source.text(document.storage_key)
        before = await source.shard.points(document.id, 1)
        after = await target.shard.points(document.id, 1)
        assert {point.id: (point.sparse, point.index) for point in after} == {
            point.id: (point.sparse, point.index) for point in before
        }
    for closed in (source, target):
        await closed.shard.close()
    for closed in (scaled_out, target.database):
        await closed.close()
