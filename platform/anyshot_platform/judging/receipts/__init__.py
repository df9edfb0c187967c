"""Receipts of runs, signed with the key of the site."""
