"""Results of a final phase: podium, prizes and their split, certificates, tables, method cards."""
