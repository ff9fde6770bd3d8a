"""The devices that must agree. All poison what is stale."""

from collections.abc import Iterator

import pytest
from tests.plugin_backend.install import add_to_path, install

from trilby import Accelerator


@pytest.fixture(params=["interpreter", "opencl", "native", "arrays"], scope="session")
def accelerator(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Accelerator]:
    """Each device that computes, through the whole of Trilby; `arrays` is a plug-in."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "arrays":
            add_to_path(patch, install(tmp_path_factory.mktemp("arrays")))
        opened = Accelerator(request.param, memory="discrete", poison=True)
    with opened:
        yield opened
