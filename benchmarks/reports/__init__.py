"""How quickly the pages of a large competition answer: `python -m benchmarks.pages`."""
