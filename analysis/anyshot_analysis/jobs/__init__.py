"""Analyses by name, as the worker and the commands run them."""

from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs
from anyshot_analysis.jobs.registry import JOBS, Analysis, Audience, digest, run

__all__ = ["JOBS", "Analysis", "Audience", "BadAnalysis", "Inputs", "digest", "run"]
