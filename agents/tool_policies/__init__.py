"""What each person lets agents do with each tool, within what the operator allows."""
