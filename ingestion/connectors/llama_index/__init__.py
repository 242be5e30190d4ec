"""The connector of readers of LlamaIndex, which run in a child process."""
