"""Speed of the evaluation science: `python -m benchmarks.science`."""
