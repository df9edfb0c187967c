"""Bundles, organizers' pages, exports."""
