"""Further evaluations as pages, tables and JSON show them."""
