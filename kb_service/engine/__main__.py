"""The engine process: ``python -m kb_service.engine``."""

import sys

from core.process import run_main

if __name__ == "__main__":
    sys.exit(run_main("kb_service.engine.main"))
