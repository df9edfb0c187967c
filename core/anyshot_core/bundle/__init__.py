"""Checks of a submission before it runs: the archive, model.py and config.json, none of it imported or unpacked."""

from anyshot_core.bundle.check import check_bundle
from anyshot_core.bundle.conditions import RunConditions
from anyshot_core.bundle.report import BundleReport, Check, CheckOutcome

__all__ = ["BundleReport", "Check", "CheckOutcome", "RunConditions", "check_bundle"]
