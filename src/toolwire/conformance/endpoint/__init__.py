"""Does tool calling work on a live, OpenAI-compatible server? One check per promise of the API."""

from toolwire.conformance.endpoint.checks import CHECKS
from toolwire.conformance.endpoint.client import LiveEndpoint, Unreachable
from toolwire.conformance.endpoint.trial import TrialResult, Verdict, run_checks

__all__ = ["CHECKS", "LiveEndpoint", "TrialResult", "Unreachable", "Verdict", "run_checks"]
