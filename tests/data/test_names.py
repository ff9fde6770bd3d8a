from trilby.data import names
from trilby.data.dtypes import SCALARS


def test_every_scalar_but_bool_has_its_name() -> None:
    assert {name: getattr(names, name) for name in names.__all__} == {
        name: scalar for name, scalar in SCALARS.items() if name != "bool"
    }


def test_calling_a_name_converts_as_a_kernel_does() -> None:
    assert names.i32(3.7) == 3
    assert names.u8(-1) == 255
    assert names.f32(0.1) == 0.10000000149011612
