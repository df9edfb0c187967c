"""Datasets in Meta-Album's format, and the memory-mapped packs that everything reads them from.

`dataset` reads and checks folders, `packing` turns a folder into one pack file, `pack` maps such a file,
`pool` is an ordered sequence of packs, `openml` downloads the public Meta-Album datasets, `picture` draws
contact sheets and tasks. Nothing here imports torch.
"""
