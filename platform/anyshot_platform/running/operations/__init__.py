"""Health, metrics, alerts, retention, backup."""
