"""Analyses by name, as the worker and the commands run them."""

from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs
from anyshot_analysis.jobs.registry import JOBS, Analysis, ReportAudience, digest, run

__all__ = ["JOBS", "Analysis", "BadAnalysis", "Inputs", "ReportAudience", "digest", "run"]
