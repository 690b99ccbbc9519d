"""Why does an agent not call tools on a server, and which settings help: `toolwire doctor`."""

from toolwire.doctor.diagnosis import Diagnosis, diagnose
from toolwire.doctor.examination import Examination, Observation, Setup, examine
from toolwire.doctor.facts import ServerFacts, look_at

__all__ = [
    "Diagnosis",
    "Examination",
    "Observation",
    "ServerFacts",
    "Setup",
    "diagnose",
    "examine",
    "look_at",
]
