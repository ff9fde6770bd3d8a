"""Which processor this is: several machines that this one is not."""

from dataclasses import replace
from pathlib import Path

import pytest

from trilby.backend.native.host_processor import (
    check_system,
    host_from,
    quota,
    this_host,
    usable_threads,
    width_bits,
)
from trilby.backend.native.llvm import assembly, object_code
from trilby.backend.native.toolchain import Processor
from trilby.errors import DeviceUnavailableError

AVX512 = frozenset({"avx2", "avx512f", "avx512bw", "avx512dq", "avx512vl"})

SUM = """
define <8 x float> @sum(<8 x float> %a, <8 x float> %b) {
  %c = fadd <8 x float> %a, %b
  ret <8 x float> %c
}
"""


@pytest.mark.parametrize(
    ("machine", "features", "bits"),
    [
        ("x86_64", AVX512, 512),
        ("x86_64", AVX512 - {"avx512vl"}, 256),
        ("x86_64", {"avx", "avx2", "fma"}, 256),
        ("x86_64", {"sse2", "avx"}, 128),
        ("x86_64", set[str](), 128),
        ("aarch64", {"neon", "sve"}, 128),
        ("riscv64", {"v"}, 128),
        ("unknown", set[str](), 128),
    ],
)
def test_the_width_of_vectors(machine: str, features: set[str], bits: int) -> None:
    assert width_bits(machine, frozenset(features)) == bits


def test_a_processor_that_is_known() -> None:
    told = {"model name": "Fast 9000", "vendor_id": "GenuineFast"}
    host = host_from(
        Processor("x86_64-linux-gnu", "znver3", "+avx2,-sse4a", "20.1"),
        threads=6,
        told=told,
    )
    assert host.target.features == {"avx2"}
    device = host.device
    assert (device.name, device.vendor, device.compute_units) == ("Fast 9000", "GenuineFast", 6)
    assert device.driver == "LLVM 20.1 for znver3, 256-bit vectors"


def test_a_processor_that_nobody_knows() -> None:
    host = host_from(Processor("aarch64-linux-gnu", "generic", ""), threads=1, told={})
    assert (host.device.name, host.device.vendor) == ("aarch64 processor", "unknown vendor")
    assert host.target.width_bits == 128


@pytest.mark.parametrize(
    ("features", "instruction"),
    [("", "addps"), ("+avx", "vaddps"), ("+avx2,+avx512f,+avx512vl", "vaddps")],
)
def test_code_for_lesser_processors(features: str, instruction: str) -> None:
    host = host_from(Processor("x86_64-unknown-linux-gnu", "x86-64", ""), threads=1, told={})
    processor = replace(host.processor, features=features)
    lines = assembly(SUM, processor).split()
    assert instruction in lines
    assert object_code(SUM, processor).startswith(b"\x7fELF")


@pytest.mark.parametrize(
    ("system", "order", "bits", "reason"),
    [
        ("win32", "little", 64, "POSIX threads, which Windows has not"),
        ("linux", "big", 64, "the lowest byte first"),
        ("linux", "little", 32, "a 64-bit Python"),
    ],
)
def test_systems_that_cannot(system: str, order: str, bits: int, reason: str) -> None:
    with pytest.raises(DeviceUnavailableError, match=reason) as caught:
        check_system(system, order, bits)
    assert 'Accelerator("opencl")' in caught.value.advice
    check_system("linux", "little", 64)
    check_system("darwin", "little", 64)


def test_threads() -> None:
    assert usable_threads(3) == 3
    assert usable_threads(None) >= 1
    assert this_host().threads >= 1


@pytest.mark.parametrize(
    ("text", "cores"),
    [("200000 100000", 2), ("150000 100000", 2), ("50000 100000", 1), ("max 100000", 8), ("", 8)],
)
def test_a_container_may_have_fewer_cores(tmp_path: Path, text: str, cores: int) -> None:
    file = tmp_path / "cpu.max"
    file.write_text(text, "ascii")
    assert quota(file, 8) == cores
    assert quota(tmp_path / "absent", 8) == 8
