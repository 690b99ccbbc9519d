import gc

import pytest

from toolwire.cli.loading import uncollected


def test_garbage_is_collected_again_after_loading() -> None:
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_also_after_a_module_that_cannot_be_loaded() -> None:
    with pytest.raises(ImportError), uncollected():
        raise ImportError
    assert gc.isenabled()
