"""What reaches beyond an account: deleting it."""
