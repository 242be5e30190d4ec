"""The process behind ``agentex migrate``: the database at this version, first rows included."""

from core.process import start

if __name__ == "__main__":
    start("cli.server.bootstrap")
