"""On the host, local and private arrays say where they belong."""

import pytest
from tests.messages import message

import trilby as tb
from trilby import f32
from trilby.errors import DirectCallError


@pytest.mark.parametrize("name", ["local", "private"])
def test_on_the_host_there_is_no_device_memory(name: str) -> None:
    with pytest.raises(DirectCallError) as caught:
        getattr(tb, name)(f32, 16)
    assert message(caught.value) == (
        f"`tb.{name}` works inside kernels only\n  help: on the host use a NumPy array"
    )
    assert isinstance(caught.value, TypeError)
