"""``python -m kb_service.engine.shard_host_main``: serve one shard, as the engine's child.

Loading a large shard holds Python's interpreter lock for longer than a question may wait. So an optimised shard is
loaded here, while the engine still answers from the old one.
"""

import signal
import sys
from pathlib import Path

import uvloop

from core.logging import configure_logging
from core.process import die_with_parent
from core.settings import get_settings
from kb_service.engine.main import serve
from kb_service.engine.resources import Resources
from kb_service.engine.server import Engine
from kb_service.vector_index.edge_shard import Shard


def main(parent: str, model: str, dimension: str, folder: str, socket: str) -> int:
    """Serve the shard in ``folder`` on ``socket`` until SIGTERM; returns the exit code."""
    die_with_parent(int(parent))
    settings = get_settings()
    configure_logging(settings, part="index")
    # Ctrl-C in a terminal goes to the whole group; the engine decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def load() -> Resources:
        return Resources(encoders={}, shards={model: Shard(Path(folder), int(dimension))})

    engine = Engine(settings, load)
    return uvloop.run(serve(Path(socket), engine, stop_on=(signal.SIGTERM,)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
