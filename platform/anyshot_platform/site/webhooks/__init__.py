"""Pages and JSON: webhooks."""
