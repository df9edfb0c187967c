"""What people do with their accounts: sign up, log in, confirm, reset, sign in elsewhere."""
