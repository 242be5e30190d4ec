"""The worker process: ``python -m ingestion.worker``."""

from core.garbage import start

if __name__ == "__main__":
    start("ingestion.worker.process")
