"""``python -m kb_service.engine.build``: copy a shard and optimise the copy, then end.

Optimising holds Python's interpreter lock and both cores for half a minute per 100,000 points, so
it happens in a process of its own, at a low priority.
"""

import os
import shutil
import sys
from pathlib import Path

from core.parent import die_with_parent
from kb_service.vector_index.edge_shard import Shard

COPIED = b"copied\n"
# Half the share of a process that somebody waits for, or less.
_NICENESS = 10


def main(parent: str, source: str, target: str, dimension: str) -> None:
    """Copy ``source`` to ``target``, say so on standard output, optimise the copy, close it.

    Args:
        parent: process id of the engine.
        source: folder of the shard; nobody writes to it until the copy is made.
        target: a folder that does not exist.
        dimension: length of the vectors.
    """
    die_with_parent(int(parent))
    os.nice(_NICENESS)
    shutil.copytree(source, target)
    sys.stdout.buffer.write(COPIED)
    sys.stdout.buffer.flush()
    shard = Shard(Path(target), int(dimension))
    shard.optimise()
    shard.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
