"""The process behind ``agentex migrate``."""

from core.process import run_main

if __name__ == "__main__":
    run_main("cli.server.bootstrap")
