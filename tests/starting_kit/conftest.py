"""The tiny pool and the quick real runners of core's tests."""

from tests.core.conftest import *  # noqa: F403 - fixtures
