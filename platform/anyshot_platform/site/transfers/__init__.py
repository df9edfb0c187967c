"""Pages and endpoints of competitions that move between sites."""
