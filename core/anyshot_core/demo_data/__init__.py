"""A generated meta-dataset in Meta-Album format, for the demo and the tests.

It is synthetic and says so: four domains that differ really (printed characters, textures, shapes, fractals),
each with one dataset a set, 20 classes of 40 images. It is meant to show a competition at work, not to
measure methods: use real datasets for that.
"""

from anyshot_core.demo_data.folder import DATASETS, GENERATED_TEST_DATASETS, make_demo_data

__all__ = ["DATASETS", "GENERATED_TEST_DATASETS", "make_demo_data"]
