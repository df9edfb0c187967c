"""What participants do with a submission: hand it in, withdraw it."""
