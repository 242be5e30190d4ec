"""Tool policies of people, within what the operator allows."""
