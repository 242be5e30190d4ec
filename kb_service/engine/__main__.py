"""The engine process: ``python -m kb_service.engine``."""

import sys

from core.process import start

if __name__ == "__main__":
    sys.exit(start("kb_service.engine.main"))
