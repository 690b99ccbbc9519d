from toolwire.inspector.paths import TRIALS
from toolwire.inspector.trying import MODES


def test_every_mode_can_be_tried() -> None:
    assert set(TRIALS) == set(MODES)
