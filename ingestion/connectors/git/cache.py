"""Bare repositories in a cache: fetched without history, listed and read without a work tree.

Loaded by workers with their first Git source, because the library takes a while; all of it blocks.
"""

import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from hashlib import sha256
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, BinaryIO

from dulwich.client import AbstractHttpGitClient, TraditionalGitClient
from dulwich.objects import Blob, Commit, ObjectID, Tree
from dulwich.protocol import Protocol
from dulwich.refs import Ref
from dulwich.repo import Repo

from ingestion.connectors.base import MOST_ITEMS, SourceUnavailable, too_many_items
from ingestion.connectors.git.failures import (
    FetchStopped,
    cache_lost,
    no_branch,
    no_folder,
    not_git,
    too_big,
    unsupported_hash,
)
from ingestion.connectors.git.http import GitHttp
from ingestion.connectors.git.packs import PackLimits, PackTooLarge, check_pack
from ingestion.connectors.git.ssh import GitSsh
from ingestion.connectors.git.transport import GitTransport

_HEAD, _BRANCHES = b"HEAD", b"refs/heads/"
_FETCHED = Ref(b"refs/heads/fetched")
_SHA1_DIGITS = 40
_DEEPEST = 64
_MOST_ENTRIES = 1_000_000
# Each fetch adds a pack; the old ones hold much that is gone.
_MOST_PACKS = 50
_OBJECT_BYTES = 128 * 2**20
_UNPACKED = 8
_PARTIAL = "partial"


@dataclass(frozen=True)
class GitSelection:
    """What of a repository is read.

    Args:
        branch: empty for the default one.
        folder: empty for all.
        accepts: whether a file is wanted, by its path.
    """

    branch: str
    folder: str
    accepts: Callable[[str], bool]


class GitCache:
    """The cached repository of one source; what is missing or broken is fetched anew.

    Args:
        folder: may be missing; everything in it belongs to the cache.
        max_bytes: of one fetch.
        max_item_bytes: larger files are left on servers that can leave them out.
    """

    def __init__(self, folder: Path, max_bytes: int, max_item_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._max_item_bytes = max_item_bytes
        largest = max(_OBJECT_BYTES, max_item_bytes)
        self._limits = PackLimits(largest, differences=max_bytes, total=_UNPACKED * max_bytes)

    def refresh(self, transport: GitTransport, url: str, selection: GitSelection) -> list[tuple[str, str]]:
        """Fetch what is new, and list the paths and blob ids of the wanted files in order.

        Raises:
            SourceUnavailable: by reason.
            FetchStopped: nobody waits for it any more.
        """
        place = self._place(url)
        while True:
            is_fresh = not place.exists()
            try:
                with closing(_open(place)) as repository:
                    commit = self._fetch(repository, transport, url, selection.branch)
                    return list(_listing(repository, commit, selection, transport.check))
            except (SourceUnavailable, FetchStopped):
                raise
            except OSError:
                if is_fresh:
                    raise
            # Whatever a strange server or a damaged disk makes the library trip over.
            except Exception as error:
                if is_fresh:
                    self.delete()
                    raise not_git() from error
            self.delete()

    def read(self, url: str, blob_id: str) -> bytes | None:
        """The contents of a file; None where the server left it out for its size."""
        place = self._place(url)
        try:
            with closing(Repo(str(place))) as repository:
                blob = repository.object_store[ObjectID(blob_id.encode())]
        except Exception as error:
            if isinstance(error, KeyError) and (place / _PARTIAL).exists():
                return None
            self.delete()
            raise cache_lost() from error
        return blob.data if isinstance(blob, Blob) else b""

    def delete(self) -> None:
        """Delete the cache."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _place(self, url: str) -> Path:
        """Where the repository is; another one, or other limits, start anew."""
        place = self._folder / f"{_digest(url)}-{self._max_item_bytes}.git"
        with suppress(OSError):
            if any(path != place for path in self._folder.iterdir()):
                self.delete()
        return place

    def _fetch(self, repository: Repo, transport: GitTransport, url: str, branch: str) -> ObjectID:
        chosen = _Choice(repository, branch, lambda: transport.allow(self._max_bytes))
        client = _client(url, transport)
        before = repository.get_shallow()
        with tempfile.TemporaryFile(dir=repository.path) as file:
            result = client.fetch_pack(
                b"",
                chosen,
                repository.get_graph_walker(),
                file.write,
                depth=1,
                ref_prefix=[_HEAD, _BRANCHES],
                filter_spec=b"blob:limit=%d" % (self._max_item_bytes + 1),
            )
            if file.tell():
                if client.leaves_out:
                    Path(repository.path, _PARTIAL).touch()
                self._take_in(repository, file, transport)
        commit = chosen.commit
        if commit not in repository.object_store:
            raise KeyError(commit)
        if result.new_shallow:
            repository.update_shallow(result.new_shallow, before - result.new_shallow)
        repository.refs[_FETCHED] = commit
        return commit

    def _take_in(self, repository: Repo, file: BinaryIO, transport: GitTransport) -> None:
        file.flush()
        try:
            with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
                count = check_pack(content, self._limits, transport.check)
        except PackTooLarge as error:
            raise too_big(self._max_bytes) from error
        file.seek(0)
        if count:
            repository.object_store.add_thin_pack(file.read, None, progress=lambda *_: transport.check())


class _Choice:
    """Chooses the commit to fetch; nothing where the cache has it."""

    def __init__(self, repository: Repo, branch: str, on_fetch: Callable[[], None]) -> None:
        self._repository = repository
        self._branch = branch
        self._on_fetch = on_fetch
        self.commit = ObjectID(b"")

    def __call__(self, refs: Mapping[Ref, ObjectID], depth: int | None = None) -> list[ObjectID]:
        name = Ref(_BRANCHES + self._branch.encode()) if self._branch else Ref(_HEAD)
        if name not in refs:
            names = [ref.removeprefix(_BRANCHES).decode(errors="replace") for ref in refs if ref.startswith(_BRANCHES)]
            raise no_branch(self._branch, names)
        self.commit = refs[name]
        if len(self.commit) != _SHA1_DIGITS:
            raise unsupported_hash()
        fetched = self._repository.refs.as_dict().get(_FETCHED)
        if self.commit == fetched and self.commit in self._repository.object_store:
            return []
        self._on_fetch()
        return [self.commit]


class _HttpClient(AbstractHttpGitClient):
    """The library's client, with our way to make requests: it has none of its own."""

    def __init__(self, url: str, http: GitHttp) -> None:
        super().__init__(url)
        self._http = http
        self.leaves_out = True

    def _http_request(
        self,
        url: str,
        headers: dict[str, str] | None = None,
        data: bytes | Iterator[bytes] | None = None,
        raise_for_status: bool = True,
    ) -> tuple[Any, Callable[[int], bytes]]:
        body = data if data is None or isinstance(data, bytes) else b"".join(data)
        response = self._http.request(url, headers or {}, body)
        kind = "advertisement" if body is None else "result"
        response.require_type(f"application/x-git-upload-pack-{kind}")
        return response, response.read

    def _warn_filter_objects(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        # The server sends large files, too; they are refused one by one.
        self.leaves_out = False


class _SshClient(TraditionalGitClient):
    """The library's client over a connection of ours."""

    def __init__(self, ssh: GitSsh) -> None:
        super().__init__()
        self._ssh = ssh
        self.leaves_out = True

    def _connect(
        self, cmd: bytes, path: str | bytes, protocol_version: int | None = None
    ) -> tuple[Protocol, Callable[[], bool], None]:
        session = self._ssh.open(f"git-{cmd.decode()}")
        return Protocol(session.read, session.write, session.close), session.can_read, None

    def _warn_filter_objects(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        self.leaves_out = False


def _client(url: str, transport: GitTransport) -> _HttpClient | _SshClient:
    if isinstance(transport, GitSsh):
        return _SshClient(transport)
    if isinstance(transport, GitHttp):
        return _HttpClient(url, transport)
    raise TypeError(type(transport))


def _open(place: Path) -> Repo:
    if place.exists():
        repository = Repo(str(place))
        if len(list(repository.object_store.packs)) > _MOST_PACKS:
            repository.close()
            raise KeyError(place.name)
        for left in Path(repository.object_store.path).glob("tmp_pack_*"):
            left.unlink(missing_ok=True)
        return repository
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Repo.init_bare(str(place), mkdir=True)


def _listing(
    repository: Repo, commit_id: ObjectID, selection: GitSelection, check: Callable[[], None]
) -> Iterator[tuple[str, str]]:
    """Paths and blob ids of the wanted files, in order of their folders."""
    commit = repository.object_store[commit_id]
    if not isinstance(commit, Commit):
        raise TypeError(commit.type_name)
    parts = [part for part in selection.folder.split("/") if part]
    tree_id = commit.tree
    for part in parts:
        try:
            mode, tree_id = _tree(repository, tree_id)[part.encode()]
        except KeyError:
            raise no_folder(selection.folder) from None
        if not stat.S_ISDIR(mode):
            raise no_folder(selection.folder)
    count = 0
    for path, blob_id in _files(repository, tree_id, parts, check):
        if selection.accepts(path):
            count += 1
            if count > MOST_ITEMS:
                raise too_many_items()
            yield path, blob_id


def _files(
    repository: Repo, tree_id: ObjectID, parts: Sequence[str], check: Callable[[], None]
) -> Iterator[tuple[str, str]]:
    """Paths and blob ids of all files but hidden ones, links, submodules and those whose name is no UTF-8."""
    waiting = [(tree_id, tuple(parts))]
    entries = 0
    while waiting:
        check()
        tree_id, folder = waiting.pop()
        inner: list[tuple[ObjectID, tuple[str, ...]]] = []
        for entry in _tree(repository, tree_id).items():
            entries += 1
            if entries > _MOST_ENTRIES:
                raise too_many_items()
            name = _name(entry.path)
            if name is None:
                continue
            if stat.S_ISREG(entry.mode):
                yield "/".join((*folder, name)), entry.sha.decode()
            elif stat.S_ISDIR(entry.mode) and len(folder) < _DEEPEST:
                inner.append((entry.sha, (*folder, name)))
        waiting += reversed(inner)


def _tree(repository: Repo, tree_id: ObjectID) -> Tree:
    tree = repository.object_store[tree_id]
    if not isinstance(tree, Tree):
        raise TypeError(tree.type_name)
    return tree


def _name(name: bytes) -> str | None:
    """A name as text; None for hidden ones and those that can't be keys."""
    try:
        text = name.decode()
    except UnicodeDecodeError:
        return None
    return None if text.startswith(".") or not text.strip() or "\0" in text else text


def _digest(url: str) -> str:
    return sha256(url.encode()).hexdigest()[:16]
