"""What the measurement of growth refuses; what it measures is tested beside the bench, which uses it."""

import pytest

from attention_lib.errors import OptionError
from attention_lib.experiments import length_growth


@pytest.mark.bad_input
def test_an_unknown_way_is_named():
    with pytest.raises(OptionError, match=r"ways has 'dens'; choose from weights stored, dense, window, cached step"):
        length_growth.run(ways=["window", "dens"])
