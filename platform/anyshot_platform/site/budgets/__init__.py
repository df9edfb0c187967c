"""Pages and JSON: budgets."""
