"""Checks tool calling on a live, OpenAI-compatible server: one check per promise of the API."""

from toolwire.conformance.endpoint.checks import CHECKS, REACH
from toolwire.conformance.endpoint.client import InvalidURL, LiveEndpoint, Unreachable
from toolwire.conformance.endpoint.trial import Check, TrialResult, Verdict, run_checks

__all__ = [
    "CHECKS",
    "REACH",
    "Check",
    "InvalidURL",
    "LiveEndpoint",
    "TrialResult",
    "Unreachable",
    "Verdict",
    "run_checks",
]
