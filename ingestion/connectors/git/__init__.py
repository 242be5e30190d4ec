"""The connector of Git repositories, whose files become documents."""
