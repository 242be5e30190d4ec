"""The API process: ``python -m api``."""

from core.process import start

if __name__ == "__main__":
    start("api.server")
