"""Pages and JSON: receipts."""
