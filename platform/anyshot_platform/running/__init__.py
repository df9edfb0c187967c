"""What goes on around a competition: rehearsals, announcements, exports, operations."""
