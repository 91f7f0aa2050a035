"""What the tests of the study share."""

import pytest
from short_runs import FEW


@pytest.fixture(scope="session")
def runs():
    return [task.execute() for task in FEW]
