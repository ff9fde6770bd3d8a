"""The kernel context: what a work item knows about its place in the range.

In generated code it is a mapped struct that the kernel fills from the vendor's calls.
"""

from typing import Literal

from trilby.errors import DirectCallError


class KernelContext:
    """The first parameter of every kernel. Kernels receive it; nobody makes one.

    `x y z` are the work item's ids and `max_x max_y max_z` the size of the range;
    `local_*` count within the work group, `group_*` count the groups.
    """

    x: int
    y: int
    z: int
    max_x: int
    max_y: int
    max_z: int
    local_x: int
    local_y: int
    local_z: int
    local_max_x: int
    local_max_y: int
    local_max_z: int
    group_x: int
    group_y: int
    group_z: int
    group_max_x: int
    group_max_y: int
    group_max_z: int
    pass_id: int

    def barrier(self, scope: Literal["local", "global", "both"] = "both") -> None:
        """Wait for all work items of the group.

        What they wrote before to memory of that scope is seen by all behind it.
        """
        raise DirectCallError(
            "`kc.barrier()` works inside kernels only",
            advice="on the host nothing runs beside you",
        )


GRID_FIELDS: tuple[str, ...] = tuple(KernelContext.__annotations__)
"""The names of all fields, in the order of the mapped struct; each is an `i32`."""
