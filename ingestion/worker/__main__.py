"""The worker process: ``python -m ingestion.worker``."""

from core.process import run_main

if __name__ == "__main__":
    run_main("ingestion.worker.main")
