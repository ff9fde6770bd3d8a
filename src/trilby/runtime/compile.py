"""Drives a function through its stages: reflect, reach, analyse, generate, compile.

The one module that knows reflection, analysis and backends at the same time. What it makes
is cached for each function, and made anew when a Python constant that was folded in changes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import wraps
from itertools import product
from threading import RLock
from types import FunctionType
from typing import Any, Generic, TypeVar, cast

from trilby.analysis.access import AccessTable, access_table
from trilby.analysis.closure import ComputeClosure
from trilby.analysis.footprint import KernelFootprint, footprints
from trilby.analysis.needs import FEATURES, needs
from trilby.analysis.reach import (
    ComputeGraph,
    KernelGraph,
    compute_graph,
    kernel_graph,
    short_name,
    works_in_groups,
)
from trilby.analysis.varying import varying_dispatches
from trilby.backend.base import Backend, DeviceInfo, Executable, Handoff
from trilby.codegen.python import compile_compute
from trilby.data.schema import NDArrayType
from trilby.dataclass import dataclass
from trilby.errors import KernelTypeError, MissingFeatureError, ModelError, TrilbyError
from trilby.locks import new_rlock
from trilby.model.op import Func
from trilby.model.rewrite import FUNC_KINDS, Transform
from trilby.model.value import Value, space_of
from trilby.options import Transfers
from trilby.reflect.functions import Compute, Helper, Kernel, Reflectable, is_compute, is_kernel
from trilby.reflect.host_functions import ReflectedCompute, reflect_compute
from trilby.reflect.kernels import Reflected, reflect_helper, reflect_kernel
from trilby.reflect.lowering import Callee
from trilby.reflect.signature import Signature, kernel_signature, ranks_from_use
from trilby.runtime.binding import declared_among
from trilby.runtime.profiles import compiling
from trilby.shown import Shown
from trilby.source import NOWHERE
from trilby.stages import stage
from trilby.transform.pipelines import Transformed, compute_transforms, run_transforms

# ----------------------------------------------------------------------------------------- features
# Whether a device has what a kernel needs: the one check, for all backends, before building.
#
# How large a buffer in constant memory may be is checked at launch, when its size is known.

_SPOKEN = {"f64": "no `f64`", "i64_atomics": "no atomics on 64 bits"}


def check_features(graph: KernelGraph, device: DeviceInfo) -> None:
    """Refuse a kernel that needs more than a device has, at the first line that does."""
    _check_constant_arguments(graph.entry, device)
    if device.features >= FEATURES:
        return
    for need in needs(graph):
        if need.feature not in device.features:
            raise MissingFeatureError(
                f"{device.name} has {_SPOKEN[need.feature]}, and {need.why}",
                advice=f"{need.advice}; or use a device that has it: `trilby devices` lists them",
                location=None if need.location == NOWHERE else need.location,
                calls=need.calls,
            )


def _check_constant_arguments(kernel: Func, device: DeviceInfo) -> None:
    constant = [param.hint for param in kernel.params if space_of(param.type) == "constant"]
    if not device.constant_arguments or len(constant) <= device.constant_arguments:
        return
    raise MissingFeatureError(
        f"`{short_name(kernel.name)}` has {len(constant)} buffers in constant memory "
        f"({', '.join(constant)}), and {device.name} takes {device.constant_arguments}",
        advice="take `tb.Constant` off the largest: they then lie in global memory",
        location=None if kernel.location == NOWHERE else kernel.location,
    )


# ------------------------------------------------------------------------------------------ compile

T = TypeVar("T")

_GUESSED_RANKS = (1, 2, 3)
_MOST_GUESSES = 4
"""Up to so many n-d arrays of a kernel are tried with other ranks than they seem to have."""


@dataclass(frozen=True, slots=True)
class AnalysedKernel:
    """A kernel with everything that can be known without a device.

    Of `double` it knows that it reads `a.array` and overwrites `b.array`, each at `kc.x`.
    """

    kernel: Kernel[...]
    signature: Signature
    graph: KernelGraph
    access: AccessTable
    footprint: KernelFootprint
    reflected: tuple[Reflected, ...]
    works_in_groups: bool
    transformed: Transformed
    """Its functions as they were reflected, and what transforms of users made of them."""

    def is_current(self) -> bool:
        """False once a Python constant that was folded in has changed."""
        return all(part.is_current() for part in self.reflected)


@dataclass(frozen=True, slots=True)
class ContextOf(Shown):
    """All that an entry point reaches: graphs, side tables and models.

    `print(accelerator.context_of(square_all))` shows all of it.
    """

    graph: ComputeGraph
    kernels: tuple[AnalysedKernel, ...]
    entry: ReflectedCompute
    says_what_moves: bool
    """True where the entry point, or a compute function that it calls, puts and gets itself."""
    transformed: Mapping[str, Transformed]
    """Its compute functions by symbol, and what transforms of users made of them."""

    @property
    def closure(self) -> ComputeClosure:
        """The same for a backend, without Python functions."""
        kernels = dict(zip(self.graph.kernels, self.kernels, strict=True))
        return ComputeClosure(
            self.graph,
            {symbol: kernel.access for symbol, kernel in kernels.items()},
            {symbol: kernel.footprint for symbol, kernel in kernels.items()},
        )

    @property
    def access(self) -> tuple[AccessTable, ...]:
        """The side table of every kernel."""
        return tuple(kernel.access for kernel in self.kernels)

    def transforms(self, transfers: Transfers, *, shares: bool = False) -> tuple[Transform, ...]:
        """What its functions go through: no copies are planned where they say what moves."""
        if self.says_what_moves:
            return ()
        return compute_transforms(transfers, self.closure, shares=shares)

    @property
    def models(self) -> dict[str, str]:
        """The text of every model by its symbol."""
        from trilby.model.text import to_text  # noqa: PLC0415 -- for people

        functions = [*self.graph.functions, *self.graph.device_functions]
        for kernel in self.graph.kernels.values():
            functions.extend(kernel.functions)
        return {function.name: to_text(function) for function in functions}

    def __str__(self) -> str:
        sections = [
            _graph_text(
                "compute graph",
                (*self.graph.device_functions, *self.graph.functions),
                list(self.graph.kernels),
            ),
            *(_graph_text("kernel graph", g.functions, []) for g in self.graph.kernels.values()),
            *map(str, self.access),
            *self.models.values(),
        ]
        return "\n\n".join(sections)


def _graph_text(title: str, functions: tuple[Func, ...], kernels: list[str]) -> str:
    lines = [f'{title} @"{functions[-1].name}"']
    lines.extend(f'  calls @"{function.name}"' for function in functions[:-1])
    lines.extend(f'  dispatches @"{symbol}"' for symbol in kernels)
    return "\n".join(lines)


class Symbols(Generic[T]):
    """Gives every function of a graph one symbol, also where two have the same name.

    Two helpers that are both called `square` get the symbols `square` and `square#2`.
    `taken` is a symbol that none of them may have: a kernel's own.
    """

    def __init__(self, wanted: Callable[[T], str], taken: str = "") -> None:
        self._wanted = wanted
        self._taken = taken
        self._symbols: dict[T, str] = {}
        self._functions: dict[str, T] = {}

    def of(self, function: T) -> str:
        """The symbol of a function."""
        if function not in self._symbols:
            wanted = symbol = self._wanted(function)
            number = 1
            while symbol == self._taken or symbol in self._functions:
                number += 1
                symbol = f"{wanted}#{number}"
            self._symbols[function] = symbol
            self._functions[symbol] = function
        return self._symbols[function]

    def function(self, symbol: str) -> T:
        """The function of a symbol."""
        if symbol not in self._functions:
            raise ModelError(
                f"there is no function `{symbol}`",
                advice="a transform can use the functions that a compute function names itself",
            )
        return self._functions[symbol]


def _helper_symbol(callee: Callee) -> str:
    """A helper is a function of its own for each choice of ranks."""
    ranks = ",".join(map(str, callee.ranks))
    return f"{callee.helper.symbol}[{ranks}]" if ranks else callee.helper.symbol


def analyse_kernel(
    kernel: Kernel[...],
    ranks: tuple[int, ...] | None = None,
    transforms: Sequence[Transform] = (),
) -> AnalysedKernel:
    """Reflect a kernel and all it reaches, apply transforms of users, and find its accesses.

    Without `ranks` the dimensions of n-d arrays are guessed from how they are indexed.
    """
    if ranks is not None:
        return _analyse_kernel(kernel, ranks, transforms)
    guess = ranks_from_use(kernel)
    try:
        return _analyse_kernel(kernel, guess, transforms)
    except KernelTypeError:
        # A guess that was wrong must not refuse a kernel that a launch would take.
        others = product(_GUESSED_RANKS, repeat=len(guess)) if len(guess) <= _MOST_GUESSES else ()
        for other in others:
            with suppress(KernelTypeError):
                return _analyse_kernel(kernel, other, transforms)
        raise


def _analyse_kernel(
    kernel: Kernel[...], ranks: tuple[int, ...], transforms: Sequence[Transform]
) -> AnalysedKernel:
    symbols = Symbols(_helper_symbol, taken=kernel.symbol)
    reflected: list[Reflected] = []

    def resolve(symbol: str) -> Func:
        helper = reflect_helper(symbols.function(symbol), symbol, symbols.of)
        reflected.append(helper)
        return helper.func

    with stage("reflect", kernel.name):
        entry = reflect_kernel(kernel, ranks, symbols.of)
        reflected.append(entry)
        graph = kernel_graph(entry.func, resolve)
        signature = kernel_signature(kernel, ranks)
    with stage("analyse", kernel.name):
        transformed = run_transforms(graph.functions, transforms)
        return _with_tables(kernel, signature, tuple(reflected), transformed)


def _with_tables(
    kernel: Kernel[...],
    signature: Signature,
    reflected: tuple[Reflected, ...],
    transformed: Transformed,
) -> AnalysedKernel:
    graph = KernelGraph(transformed.functions)
    return AnalysedKernel(
        kernel,
        signature,
        graph,
        access_table(graph),
        footprints(graph),
        reflected,
        works_in_groups(graph),
        transformed,
    )


# ----------------------------------------------------------------------------------------- hand-off
# A backend may change models before they are compiled: the closure that it gives back counts.


def _handed_over(context: ContextOf, closure: ComputeClosure) -> ContextOf:
    """What a backend made of a context; functions that it changed are verified."""
    if closure.graph is context.graph:
        return context
    made = {func.name: func for func in closure.graph.functions}
    functions = {
        symbol: done.then([_as_transform(made)]) for symbol, done in context.transformed.items()
    }
    kernels = {
        symbol: _kernel_handed_over(kernel, closure, symbol)
        for symbol, kernel in zip(context.graph.kernels, context.kernels, strict=True)
    }
    graph = replace(
        context.graph,
        functions=tuple(functions[func.name].func for func in context.graph.functions),
        kernels={symbol: kernel.graph for symbol, kernel in kernels.items()},
    )
    entry = replace(context.entry, func=graph.entry)
    return ContextOf(graph, tuple(kernels.values()), entry, context.says_what_moves, functions)


def _kernel_handed_over(
    kernel: AnalysedKernel, closure: ComputeClosure, symbol: str
) -> AnalysedKernel:
    """The kernel as a closure has it, with tables of its own where it was changed."""
    graph = closure.graph.kernels.get(symbol, kernel.graph)
    if graph is kernel.graph:
        return kernel
    change = _as_transform({func.name: func for func in graph.functions})
    done = kernel.transformed.then([change])
    return _with_tables(kernel.kernel, kernel.signature, kernel.reflected, done)


def _as_transform(made: Mapping[str, Func]) -> Transform:
    return Transform("handoff", lambda func: made.get(func.name, func), FUNC_KINDS)


@dataclass(frozen=True, slots=True)
class ReadyKernel:
    """A kernel compiled for one device: for OpenCL, `executable` is a program of the driver."""

    analysed: AnalysedKernel
    executable: Executable


@dataclass(slots=True)
class ReadyCompute:
    """A compute function: its models and graphs, its transforms, and the Python that runs.

    The `function` of `double_all` is its own text, perhaps with `cc.to_device(a)` put in.
    """

    context: ContextOf
    transformed: Transformed
    function: FunctionType
    varying: frozenset[tuple[str, int]]
    """The lines of dispatches that need other parts of their buffers in every turn of a loop."""
    is_explicit: bool
    """True where nothing moves by itself while it runs."""
    declared: tuple[tuple[int, Value], ...]
    """The parameters that are declared to be buffers, arrays or numbers."""


@dataclass(slots=True)
class Compiler:
    """The compile cache of one accelerator.

    After `accelerator.compute(double_all, a, b)` it has the function `double_all`, for the strategy
    of copies that was in use, and the kernel `double`.
    """

    backend: Backend
    first: Callable[[Compute[..., Any]], None] | None = None
    """Called with a compute function before it runs for the first time."""
    fast_math: bool = False
    shares: bool = False
    """Whether kernels work on the host's own memory."""
    transforms: tuple[Transform, ...] = ()
    """Those of the user."""
    _kernels: dict[tuple[Kernel[...], tuple[int, ...]], ReadyKernel] = field(
        default_factory=dict[tuple[Kernel[...], tuple[int, ...]], ReadyKernel]
    )
    _computes: dict[tuple[Compute[..., Any], Transfers], ReadyCompute] = field(
        default_factory=dict[tuple[Compute[..., Any], Transfers], ReadyCompute]
    )
    _lock: RLock = field(default_factory=new_rlock)

    def kernel(self, kernel: Kernel[...], ranks: tuple[int, ...]) -> ReadyKernel:
        """A kernel ready to launch, from the cache or made now."""
        with self._lock:
            ready = self._current(kernel, ranks)
            if ready is None:
                with compiling(self.backend):
                    analysed = self._alone(analyse_kernel(kernel, ranks, self.transforms))
                    ready = self._begin(analysed, ranks)()
            return ready

    def _alone(self, kernel: AnalysedKernel) -> AnalysedKernel:
        """Hand a kernel over that no compute function was known to launch with such arrays."""
        if not isinstance(self.backend, Handoff):
            return kernel
        symbol = kernel.kernel.symbol
        graph = ComputeGraph((), {symbol: kernel.graph})
        closure = ComputeClosure(graph, {symbol: kernel.access}, {symbol: kernel.footprint})
        return _kernel_handed_over(kernel, self.backend.handoff(closure), symbol)

    def _current(self, kernel: Kernel[...], ranks: tuple[int, ...]) -> ReadyKernel | None:
        ready = self._kernels.get((kernel, ranks))
        return ready if ready is not None and ready.analysed.is_current() else None

    def _begin(self, analysed: AnalysedKernel, ranks: tuple[int, ...]) -> Callable[[], ReadyKernel]:
        """Begin to build a kernel; calling the result waits for it."""
        graph, name = analysed.graph, analysed.kernel.name
        with stage("build", name):
            check_features(graph, self.backend.device)
            finish = self.backend.compile(graph, fast_math=self.fast_math)

        def finished() -> ReadyKernel:
            with stage("build", name):
                ready = self._kernels[analysed.kernel, ranks] = ReadyKernel(analysed, finish())
                return ready

        return finished

    def compute(self, compute: Compute[..., Any], transfers: Transfers) -> ReadyCompute:
        """A compute function ready to run; its kernels are compiled ahead where possible."""
        with self._lock:
            ready = self._computes.get((compute, transfers))
            if ready is None or not ready.context.entry.is_current():
                with compiling(self.backend):
                    ready = self._make(compute, transfers)
                self._computes[compute, transfers] = ready
            return ready

    def _make(self, compute: Compute[..., Any], transfers: Transfers) -> ReadyCompute:
        context = analyse_compute(compute, self.transforms)
        if self.first is not None:
            self.first(compute)
        run: Callable[..., Any] | None = None
        if isinstance(self.backend, Handoff):
            closure = self.backend.handoff(context.closure)
            context, run = _handed_over(context, closure), closure.run
        entry = context.entry
        transformed = context.transformed[entry.func.name]
        varying: set[tuple[str, int]] = set()
        if run is not None:  # its backend runs it
            function = _as_function(run, compute.function)
        else:
            kernels = self._known_ahead(context.kernels)
            begun = [self._begin(analysed, ()) for analysed in kernels]
            objects: dict[str, object] = {**entry.kernels, **entry.callees}
            with stage("analyse", compute.name):
                transforms = context.transforms(transfers, shares=self.shares)
                transformed = transformed.then(transforms)
                dispatches = varying_dispatches(context.graph)
                varying = {(op.location.file, op.location.line) for op in dispatches}
            with stage("generate", compute.name):
                name = entry.captured.class_name
                function = compile_compute(transformed.func, compute.function, objects, name)
            for finish in begun:
                finish()
        return ReadyCompute(
            context,
            transformed,
            function,
            frozenset(varying),
            compute.explicit,
            declared_among(entry.func.params),
        )

    def _known_ahead(self, kernels: Iterable[AnalysedKernel]) -> Iterator[AnalysedKernel]:
        """Those to compile before their first dispatch; n-d arrays must wait for their ranks."""
        for analysed in kernels:
            params = analysed.signature.params
            has_ranks = any(isinstance(param.type, NDArrayType) for param in params)
            if not has_ranks and self._current(analysed.kernel, ()) is None:
                yield analysed


def _as_function(run: Callable[..., Any], original: FunctionType) -> FunctionType:
    """What a backend runs in the place of a function, with the name and the rest of that."""

    @wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        return run(*args, **kwargs)

    return cast("FunctionType", function)


def analyse_compute(compute: Compute[..., Any], transforms: Sequence[Transform] = ()) -> ContextOf:
    """Reflect a compute function and close over everything that it reaches.

    Transforms of users are applied to each function as it was reflected.
    """
    symbols = Symbols[Reflectable](lambda function: function.symbol)
    reflected: dict[str, ReflectedCompute] = {}
    transformed: dict[str, Transformed] = {}
    kernels: dict[str, AnalysedKernel] = {}

    def reflect(symbol: str) -> Func:
        function = symbols.function(symbol)
        if not is_compute(function):
            raise TypeError(function)
        made = reflect_compute(function, symbols.of)
        transformed[symbol] = run_transforms([made.func], transforms)
        func = transformed[symbol].func
        reflected[symbol] = made if func is made.func else replace(made, func=func)
        return func

    def kernel(symbol: str) -> KernelGraph:
        function = symbols.function(symbol)
        if not is_kernel(function):
            raise TypeError(function)
        kernels[symbol] = analyse_kernel(function, transforms=transforms)
        return kernels[symbol].graph

    def device_functions(symbol: str) -> Iterator[Func]:
        for helper in reflected[symbol].helpers:
            # On the host it is plain Python, which need not have a meaning on devices.
            with suppress(TrilbyError):
                yield from _device_functions(helper)

    entry = symbols.of(compute)
    with stage("reflect", compute.name):
        graph = compute_graph(reflect(entry), reflect, kernel, device_functions)
    moving = any(function.says_what_moves for function in reflected.values())
    return ContextOf(graph, tuple(kernels.values()), reflected[entry], moving, transformed)


def _device_functions(helper: Helper[..., object]) -> tuple[Func, ...]:
    """A device function and those that it calls, callees first."""
    symbols = Symbols(_helper_symbol)

    def resolve(symbol: str) -> Func:
        return reflect_helper(symbols.function(symbol), symbol, symbols.of).func

    entry = symbols.of(Callee(helper, ranks_from_use(helper)))
    return kernel_graph(resolve(entry), resolve).functions
