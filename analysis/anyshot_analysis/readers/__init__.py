"""The papers' datasets in their usual public layouts, as Meta-Album folders that everything else reads."""

from anyshot_analysis.readers.femnist import read_femnist
from anyshot_analysis.readers.folders import read_split_folders
from anyshot_analysis.readers.imagenet import read_csv_splits, read_tiered
from anyshot_analysis.readers.records import BadLayout, Records, write_meta_album
from anyshot_analysis.readers.zappos import AttributeTable, read_zappos

__all__ = [
    "AttributeTable",
    "BadLayout",
    "Records",
    "read_csv_splits",
    "read_femnist",
    "read_split_folders",
    "read_tiered",
    "read_zappos",
    "write_meta_album",
]
