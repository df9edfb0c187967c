"""Background work, outbox and doorbell: what makes sure that nothing gets lost or stuck."""
