"""The process behind ``agentex serve``: ``python -m cli.supervisor [--verbose]``."""

from core.process import run_main

if __name__ == "__main__":
    run_main("cli.supervisor.main")
