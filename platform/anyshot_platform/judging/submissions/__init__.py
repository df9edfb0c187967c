"""Submissions: uploads, quotas, checks."""
