"""The untrusted side of an evaluation: runs a submission and speaks frames with a task server.

Started as `python -P -m anyshot_starting_kit.runner`; participant code shares its process, so nothing in here is secret
and nothing it says is believed without a check on the other side.
"""
