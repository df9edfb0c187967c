"""Sandbox images, built from nothing but Debian's and Python's package indexes, once per recipe."""
