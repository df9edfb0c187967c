"""What is described once: settings with their words, limits and places, from which forms, files, tables follow."""
