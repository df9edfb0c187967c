"""From an upload to its score."""
