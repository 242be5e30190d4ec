"""Mailboxes over IMAP (RFC 3501)."""
