"""The progress that ``agentex ingest`` draws: one line for all files, one for each in work."""

from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

from cli.commands.ingest.run import Item, State
from cli.ui.i18n import common as messages
from cli.ui.output import Output, printable

# With few files each keeps its line; with many only those in work have one.
_FEW = 8
_LONGEST_NAME = 48
_STAGES = {
    "queued": messages.STAGE_QUEUED,
    "parsing": messages.STAGE_PARSING,
    "splitting": messages.STAGE_SPLITTING,
    "embedding": messages.STAGE_EMBEDDING,
    "done": messages.STAGE_DONE,
}


class IngestProgress:
    """Draws on a terminal and nowhere else.

    Args:
        output: the command's.
        total: how many files there are.
    """

    def __init__(self, output: Output, total: int) -> None:
        self._output = output
        self._total = total
        self._done = 0
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TextColumn("{task.fields[stage]}", style="dim", markup=False),
            console=output.remarks,
            transient=True,
            disable=not output.lively,
        )
        self._all = self._progress.add_task(self._count(), total=total, stage="")
        self._tasks: dict[int, TaskID] = {}

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove what was drawn."""
        self._progress.stop()

    def change(self, item: Item) -> None:
        """Draw an item's new state."""
        if not self._output.lively:
            return
        if item.settled or (item.state is State.UPLOADED and self._is_queued(item)):
            self._retire(item)
        else:
            percent, stage = self._position(item)
            self._progress.update(self._line(item), completed=percent, stage=stage)
        if item.settled:
            self._done += 1
            self._progress.update(self._all, completed=self._done, description=self._count())

    def _retire(self, item: Item) -> None:
        if self._total > _FEW or item.state is State.PRESENT:
            task = self._tasks.pop(id(item), None)
            if task is not None:
                self._progress.remove_task(task)
            return
        percent, stage = self._position(item)
        self._progress.update(self._line(item), completed=percent, stage=stage)

    def _line(self, item: Item) -> TaskID:
        if id(item) not in self._tasks:
            name = printable(item.file.name)
            short = name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}"
            self._tasks[id(item)] = self._progress.add_task(f"  {short}", total=100, stage="")
        return self._tasks[id(item)]

    def _position(self, item: Item) -> tuple[float, str]:
        if item.state is State.FAILED:
            return 100, self._output.render(messages.COUNT_FAILED)
        if item.document is not None:
            stage = _STAGES.get(item.document.stage)
            return item.document.progress, self._output.render(stage) if stage else ""
        size = max(item.file.path.stat().st_size, 1)
        return min(100 * item.sent / size, 100), self._output.render(messages.UPLOADING)

    def _is_queued(self, item: Item) -> bool:
        return item.document is not None and item.document.status == "pending"

    def _count(self) -> str:
        return self._output.render(messages.INGESTING, done=self._done, total=self._total)
