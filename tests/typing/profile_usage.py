"""A profile as a checker sees it."""

from typing import Any, assert_type

from trilby import Accelerator, Profile, S32Array
from trilby.runtime.profile import Copies


def profiled(accelerator: Accelerator, a: S32Array) -> Profile:
    """What doubling some numbers takes."""
    with accelerator.profile() as profile:
        assert_type(profile, Profile)
        accelerator.put(a)
    return profile


def use_a_profile(profile: Profile) -> str:
    for row in profile.dispatches:
        assert_type(row.kernel, str)
        assert_type(row.location.line, int)
        assert_type((row.count, row.failed), tuple[int, int])
        assert_type(row.execute_seconds + row.mean_seconds + row.delay_seconds, float)
        assert_type(row.copy_in, Copies)
    for buffer in profile.buffers:
        assert_type(buffer.copy_out.nbytes, int)
        assert_type((buffer.buffer, buffer.field), tuple[str, str])
    for wait in profile.waits:
        assert_type(wait.seconds, float)
    for compiled in profile.compiles:
        assert_type(compiled.build_seconds + compiled.seconds, float)
    assert_type(profile.total.copy_in.seconds, float)
    assert_type(profile.as_dict(), dict[str, Any])
    return str(profile)
