"""What a participant installs, served by the site itself: the wheels of exactly its own version."""
