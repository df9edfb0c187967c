"""The worker API: tokens, registrations, claims and everything a worker sends."""
