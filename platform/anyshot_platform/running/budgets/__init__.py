"""What one person or competition may use of the site: in some time, and in all."""
