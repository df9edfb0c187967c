"""Accounts: sign-up, log-in, sessions, API tokens."""
