"""A compute context that writes down what it is told about accesses of the host."""

from typing import Any

from tests.codegen.compute_recorder import Recorder


class TrackingRecorder(Recorder):
    """Notes every call in order: `("pre_access", buffer)`, `("dispatch", …)`."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, Any]] = []

    def dispatch(
        self, size: Any, kernel: Any, *args: Any, passes: Any = None, **kwargs: Any
    ) -> int:
        number = super().dispatch(size, kernel, *args, passes=passes, **kwargs)
        self.told.append(("dispatch", args))
        return number

    def pre_access(self, buffer: object) -> None:
        self.told.append(("pre_access", buffer))

    def post_access(self, buffer: object) -> None:
        self.told.append(("post_access", buffer))

    def pre_mutate(self, buffer: object) -> None:
        self.told.append(("pre_mutate", buffer))

    def post_mutate(self, buffer: object) -> None:
        self.told.append(("post_mutate", buffer))

    @property
    def words(self) -> list[str]:
        """What was told, without the buffers."""
        return [word for word, _ in self.told]
