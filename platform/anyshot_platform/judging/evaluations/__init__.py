"""Further evaluations of submissions: what their kept learners are tested on besides, and what came of it."""
