"""The log of this folder's tests goes to files of its own."""

import pytest
from workspace_records import RecordLog

from pypto.runtime import log


@pytest.fixture
def record_log(tmp_path_factory):
    """Level INFO and an empty log folder."""
    yield RecordLog(tmp_path_factory.mktemp("log"))
    log("environment")
