"""Why does an agent not call tools on a server, and which settings help: `toolwire doctor`."""

from toolwire.doctor.diagnosis import Diagnosis, diagnose
from toolwire.doctor.examination import Examination, Observation, Way, examine
from toolwire.doctor.facts import ServerFacts, look_at

__all__ = [
    "Diagnosis",
    "Examination",
    "Observation",
    "ServerFacts",
    "Way",
    "diagnose",
    "examine",
    "look_at",
]
