"""The language of rules: triggers, conditions, templates and actions; nothing here acts."""
