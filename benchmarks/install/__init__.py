"""What a participant waits for and stores: the installation of the starting kit from a running site."""
