"""The process behind ``agentex migrate``: the database at this version, first rows included."""

from core.process import run_main

if __name__ == "__main__":
    run_main("cli.server.bootstrap")
