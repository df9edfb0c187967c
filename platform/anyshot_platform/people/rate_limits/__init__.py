"""Rate limits: how often somebody may do something."""
