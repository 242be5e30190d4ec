"""The process behind ``agentex serve``: ``python -m cli.supervisor [--verbose]``."""

from core.process import start

if __name__ == "__main__":
    start("cli.server.supervisor.main")
