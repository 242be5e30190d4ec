"""Images attached to messages: upload, storage, links and cleanup."""
