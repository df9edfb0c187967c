"""Outbox, doorbell and sweeper: what makes sure that nothing gets lost or stuck."""
