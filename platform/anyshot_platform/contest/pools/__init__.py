"""Pools: versioned lists of dataset packs."""
