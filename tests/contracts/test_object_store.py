"""What every object store does, run over each adapter."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
from obstore.store import LocalStore, MemoryStore

from core.errors.requests import FileTooLarge
from core.errors.server import ObjectStoreUnavailable
from core.settings import Settings
from kb_service.object_storage.factory import open_object_store
from kb_service.object_storage.local import LocalObjectStore
from kb_service.object_storage.protocol import ObjectStore
from kb_service.object_storage.s3 import S3ObjectStore
from tests.fixtures.knowledge.stored_documents import blocks

pytestmark = pytest.mark.anyio
BIG = bytes(range(256)) * 50_000


@pytest.fixture(params=["local", "remote"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    if request.param == "local":
        return LocalObjectStore(tmp_path / "files")
    return S3ObjectStore(MemoryStore())


async def read(store: ObjectStore, key: str) -> bytes:
    async with store.local_copy(key) as path:
        return path.read_bytes()


@pytest.mark.parametrize("content", [b"a", b"\x00\xff" * 7, BIG])
async def test_written_object_is_read_back_the_same(store: ObjectStore, content: bytes):
    key = str(uuid4())
    await store.write(key, blocks(content))
    assert await read(store, key) == content
    assert await store.keys() == [key]


async def test_objects_do_not_touch_each_other(store: ObjectStore):
    keys = [str(uuid4()) for _ in range(5)]
    for number, key in enumerate(keys):
        await store.write(key, blocks(b"%d" % number))
    assert sorted(await store.keys()) == sorted(keys)
    await store.delete(keys[2])
    assert sorted(await store.keys()) == sorted(set(keys) - {keys[2]})
    assert await read(store, keys[3]) == b"3"


async def test_a_few_objects_are_stored_together(store: ObjectStore):
    objects = {str(uuid4()): b"\x00%d" % number * number for number in range(1, 20)}
    await store.write_few(objects)
    assert sorted(await store.keys()) == sorted(objects)
    assert {key: await read(store, key) for key in objects} == objects


async def test_a_few_objects_of_which_one_is_not_accepted_leave_nothing(tmp_path: Path):
    store = S3ObjectStore(LocalStore(tmp_path))
    keys = [str(uuid4()) for _ in range(3)]
    # Where a folder is no object can be.
    (tmp_path / keys[1] / "in the way").mkdir(parents=True)
    with pytest.raises(ObjectStoreUnavailable):
        await store.write_few(dict.fromkeys(keys, b"x"))
    assert await store.keys() == []


async def test_no_objects_are_stored_together(store: ObjectStore):
    await store.write_few({})
    assert await store.keys() == []


async def test_deleted_object_is_gone_and_may_be_deleted_again(store: ObjectStore):
    key = str(uuid4())
    await store.write(key, blocks(b"x"))
    await store.delete(key)
    await store.delete(key)
    assert await store.keys() == []
    with pytest.raises(FileNotFoundError):
        await read(store, key)


async def test_object_that_never_was_is_not_found(store: ObjectStore):
    with pytest.raises(FileNotFoundError):
        await read(store, str(uuid4()))


async def test_upload_that_breaks_off_leaves_nothing(store: ObjectStore):
    async def broken() -> AsyncIterator[bytes]:
        yield BIG
        raise FileTooLarge(max_bytes=1)

    with pytest.raises(FileTooLarge):
        await store.write(str(uuid4()), broken())
    assert await store.keys() == []


async def test_local_copy_is_not_the_callers_to_keep(store: ObjectStore):
    key = str(uuid4())
    await store.write(key, blocks(b"kept"))
    async with store.local_copy(key) as path:
        assert path.is_file()
    assert await read(store, key) == b"kept"


async def test_ping_passes(store: ObjectStore):
    await store.ping()


async def test_store_that_nobody_answers_for_says_so_in_time():
    settings = Settings(
        _env_file=None,
        object_store_url="s3://bucket/prefix",
        object_store_endpoint="http://127.0.0.1:1",
        object_store_access_key="key",
        object_store_secret_key="secret",
    )
    store = open_object_store(settings)
    assert isinstance(store, S3ObjectStore)
    with pytest.raises(ObjectStoreUnavailable):
        await store.write(str(uuid4()), blocks(b"x"))
    with pytest.raises(ObjectStoreUnavailable):
        await store.write_few({str(uuid4()): b"x", str(uuid4()): b"y"})


async def test_data_folder_is_the_store_where_none_is_set(tmp_path: Path):
    store = open_object_store(Settings(_env_file=None, data_dir=tmp_path, object_store_url=None))
    key = str(uuid4())
    await store.write(key, blocks(b"x"))
    assert [path.read_bytes() for path in (tmp_path / "files").rglob(key)] == [b"x"]
