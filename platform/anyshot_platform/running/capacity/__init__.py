"""How many workers a phase needs, and when what waits will start: the queue, played on a virtual clock."""
