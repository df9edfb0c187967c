"""How far the order of methods holds: over draws of classes, datasets and tasks."""
