"""The connector of databases, whose rows become documents."""
