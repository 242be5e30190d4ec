"""The API process: ``python -m api``."""

from core.process import run_main

if __name__ == "__main__":
    run_main("api.server")
