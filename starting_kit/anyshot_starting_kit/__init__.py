"""What a participant installs."""
