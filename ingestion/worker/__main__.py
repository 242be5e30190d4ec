"""The worker process: ``python -m ingestion.worker``."""

from core.process import start

if __name__ == "__main__":
    start("ingestion.worker.main")
