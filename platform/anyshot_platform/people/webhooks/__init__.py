"""Signed, retried messages to other services."""
