"""Images that a person attaches to a message: taken in, kept, linked to, swept."""
