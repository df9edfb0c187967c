"""The end of a phase for its organizers: what is under way, outages before it, and making up for one."""
