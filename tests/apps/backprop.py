"""Training a neural network (Rodinia): the host works between two kernels, through an alias."""

from dataclasses import dataclass

import numpy as np
from tests.apps.program import Copies, Numbers, Outcome, Program, floats, junk

import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array, KernelContext, NDArray, NDRange, f32

BLOCK = 4
HIDDEN = BLOCK
INPUTS = 3 * BLOCK
OUTPUTS = 2
RATE, MOMENTUM = 0.3, 0.3


@dataclass(frozen=True)
class Network:
    """Units count from 1: the first row of weights is that of a unit which is always 1.

    The host never touches `hidden_delta`: it writes `errors`, which are the same numbers.
    """

    units: F32Array
    weights: NDArray[f32]
    products: NDArray[f32]
    old_changes: NDArray[f32]
    sums: F32Array
    hidden_delta: F32Array
    errors: tb.Array[f32]
    output_weights: Numbers
    target: Numbers


@tb.kernel
def copy_weights(kc: KernelContext, weights: NDArray[f32], products: NDArray[f32]) -> None:
    products[kc.y, kc.x] = weights[kc.y, kc.x]


@tb.kernel
def forward(kc: KernelContext, units: F32Array, products: NDArray[f32], sums: F32Array) -> None:
    """Each group multiplies a block of weights and adds up its columns."""
    block = tb.local(f32, BLOCK, BLOCK)
    y, x = kc.local_y, kc.local_x
    block[y, x] = products[kc.y + 1, kc.x + 1] * units.array[kc.y + 1]
    kc.barrier("local")
    step = 1
    while step < BLOCK:
        if y % (2 * step) == 0:
            block[y, x] += block[y + step, x]
        kc.barrier("local")
        step *= 2
    products[kc.y + 1, kc.x + 1] = block[y, x]
    if y == 0:
        sums.array[kc.group_y * HIDDEN + x] = block[0, x]


@tb.kernel
def adjust(
    kc: KernelContext,
    hidden_delta: F32Array,
    units: F32Array,
    weights: NDArray[f32],
    old_changes: NDArray[f32],
) -> None:
    row, column = kc.y, kc.x + 1
    change = RATE * hidden_delta.array[column] * units.array[row]
    change += MOMENTUM * old_changes[row, column]
    weights[row, column] += change
    old_changes[row, column] = change


def squash(x: Numbers) -> Numbers:
    return 1 / (1 + np.exp(-x))


def hidden_errors(
    sums: Numbers, bias: Numbers, output_weights: Numbers, target: Numbers
) -> Numbers:
    """From what the first layer found to how wrong each hidden unit was."""
    hidden = squash(sums.reshape(-1, HIDDEN).sum(axis=0) + bias)
    output = squash(hidden @ output_weights)
    delta = output * (1 - output) * (target - output)
    return hidden * (1 - hidden) * (output_weights @ delta)


def find_errors(network: Network) -> None:
    sums, bias = np.asarray(network.sums), np.asarray(network.weights[0, 1:])
    network.errors[:] = hidden_errors(sums, bias, network.output_weights, network.target)


@tb.compute
def train(cc: ComputeContext, net: Network) -> None:
    rows, columns = net.weights.shape
    cc.dispatch((columns, rows), copy_weights, net.weights, net.products)
    blocks = NDRange((HIDDEN, INPUTS), local=(BLOCK, BLOCK))
    cc.dispatch(blocks, forward, net.units, net.products, net.sums)
    find_errors(net)
    size = HIDDEN, INPUTS + 1
    cc.dispatch(size, adjust, net.hidden_delta, net.units, net.weights, net.old_changes)


def first_units() -> Numbers:
    return np.append(np.float32(1), floats(40, INPUTS))


def first_weights() -> Numbers:
    return floats(41, INPUTS + 1, HIDDEN + 1)


def first_changes() -> Numbers:
    return floats(42, INPUTS + 1, HIDDEN + 1) / 10


def output_layer() -> tuple[Numbers, Numbers]:
    return floats(43, HIDDEN, OUTPUTS), floats(44, OUTPUTS)


def make(accelerator: Accelerator) -> Network:
    hidden_delta = F32Array.create(accelerator, length=HIDDEN + 1)
    output_weights, target = output_layer()
    return Network(
        F32Array.of(first_units()),
        accelerator.array(first_weights()),
        accelerator.array(junk(INPUTS + 1, HIDDEN + 1)),
        accelerator.array(first_changes()),
        F32Array.create(accelerator, length=INPUTS // BLOCK * HIDDEN),
        hidden_delta,
        hidden_delta.array[1:],
        output_weights,
        target,
    )


def run(accelerator: Accelerator, network: Network) -> Outcome:
    accelerator.compute(train, network)
    return [np.asarray(network.weights)]


def reference() -> Outcome:
    units, weights = first_units().astype(np.float64), first_weights().astype(np.float64)
    sums = units[1:, None] * weights[1:, 1:]
    errors = hidden_errors(sums, weights[0, 1:], *output_layer())
    weights[:, 1:] += RATE * np.outer(units, errors) + MOMENTUM * first_changes()[:, 1:]
    return [weights]


BACKPROP = Program(
    "backprop",
    "k R w W wtmp; k R input, wtmp W psum, w wtmp; H R psum W hdelta; "
    "k R hdelta, input RW w, pw; H R w",
    make,
    run,
    reference,
    minimal=Copies(4, 2),
    naive=Copies(9, 9),
    tolerance=1e-5,
)
