"""Messages to users: on the page and by e-mail."""
