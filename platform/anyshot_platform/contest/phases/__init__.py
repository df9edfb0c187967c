"""Phases: when, on what data and under which limits submissions are evaluated."""
