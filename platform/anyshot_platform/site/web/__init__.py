"""What every endpoint shares: session, viewer, access policies, CSRF, rendering."""
