"""Messages and services of the daemon."""
