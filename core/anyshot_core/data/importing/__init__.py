"""Datasets of other formats to Meta-Album's: a folder with `images/`, `labels.csv` and `info.json`."""
