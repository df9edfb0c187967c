"""Teams: who submits together, shares a quota and stands on the board as one."""
