"""The entry of a team in a league of a phase: what stands, how it was chosen, and who may have one."""
