"""What two sides of a wire must agree on, defined once and versioned.

`worker_api` holds the messages between platform and worker, `frames` those between task server and runner.
"""
