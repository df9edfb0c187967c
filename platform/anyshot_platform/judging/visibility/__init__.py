"""Who sees what: the only reader of what a phase shows, and of what became of a submission.

`phases` decides for a phase (board, scores, rows of tasks, names, logs), `submissions` for one submission,
`standing` what counts at all, `names` what hidden datasets are called, `faults` what is told of a failure, `code`
whose code is public. Everything that leaves the platform (pages, JSON, CSV, reports, zips, streams, mails) renders
what these give. `tests/architecture/test_sight.py` holds that nobody else reads those columns,
`tests/platform/web/test_sight.py` holds every exit against a written table.
"""
