"""axe-core 4.14.1 (MPL 2.0), for `tests/platform/web/test_axe.py`."""
