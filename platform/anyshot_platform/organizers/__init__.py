"""What organizers do: acts on competitions, phases, people, pools; import and export of files."""
