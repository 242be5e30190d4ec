"""Folders in which connectors keep what is worth keeping between syncs; any of them may be deleted at any time."""

import shutil
from pathlib import Path

from anyio import to_thread
from sqlmodel import col, select

from core.settings import Settings
from ingestion.context import WorkerContext
from kb_service.models import KnowledgeSource

_FOLDERS = Path("cache") / "sources"
_BATCH = 500


def cache_folder(settings: Settings, source_id: str) -> Path:
    """The cache of one source; it need not exist."""
    return settings.data_dir / _FOLDERS / source_id


async def delete_orphan_caches(context: WorkerContext) -> None:
    """Delete the caches of sources that are gone."""
    root = context.settings.data_dir / _FOLDERS
    names = await to_thread.run_sync(_list_names, root)
    for start in range(0, len(names), _BATCH):
        batch = names[start : start + _BATCH]
        async with context.database.reading() as session:
            query = select(KnowledgeSource.id).where(col(KnowledgeSource.id).in_(batch))
            present = set((await session.exec(query)).all())
        for name in batch:
            if name not in present:
                await to_thread.run_sync(_delete, root / name)


def _list_names(root: Path) -> list[str]:
    try:
        return sorted(path.name for path in root.iterdir())
    except FileNotFoundError:
        return []


def _delete(folder: Path) -> None:
    # A worker that is still at it may write once more; the next look finds that.
    shutil.rmtree(folder, ignore_errors=True)
