"""Training a neural network (Rodinia): the host works between two kernels, through an alias."""

from dataclasses import dataclass

import numpy as np
from rodinia_suite.workload import Numbers, Outcome, Workload, floats, junk

import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array, KernelContext, NDArray, NDRange, f32

BLOCK = 16
HIDDEN = BLOCK
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
    blocks = NDRange((HIDDEN, rows - 1), local=(BLOCK, BLOCK))
    cc.dispatch(blocks, forward, net.units, net.products, net.sums)
    find_errors(net)
    cc.dispatch((HIDDEN, rows), adjust, net.hidden_delta, net.units, net.weights, net.old_changes)


def backprop(inputs: int = 65_536) -> Workload[Network]:
    """The weights of the first layer after one example."""
    units = np.append(np.float32(1), floats(40, inputs))
    weights = floats(41, inputs + 1, HIDDEN + 1) / inputs
    changes = floats(42, inputs + 1, HIDDEN + 1) / (10 * inputs)
    output_weights, target = floats(43, HIDDEN, OUTPUTS), floats(44, OUTPUTS)

    def make(accelerator: Accelerator) -> Network:
        hidden_delta = F32Array.create(accelerator, length=HIDDEN + 1)
        return Network(
            F32Array.of(units),
            accelerator.array(weights.copy()),
            accelerator.array(junk(inputs + 1, HIDDEN + 1)),
            accelerator.array(changes.copy()),
            F32Array.create(accelerator, length=inputs // BLOCK * HIDDEN),
            hidden_delta,
            hidden_delta.array[1:],
            output_weights,
            target,
        )

    def run(accelerator: Accelerator, network: Network) -> Outcome:
        accelerator.compute(train, network)
        return [np.asarray(network.weights)]

    def reference() -> Outcome:
        exact_units, exact = units.astype(np.float64), weights.astype(np.float64)
        sums = exact_units[1:, None] * exact[1:, 1:]
        errors = hidden_errors(sums, exact[0, 1:], output_weights, target)
        exact[:, 1:] += RATE * np.outer(exact_units, errors) + MOMENTUM * changes[:, 1:]
        return [exact]

    return Workload("backprop", f"{inputs:,} inputs", make, run, reference, tolerance=1e-4)
