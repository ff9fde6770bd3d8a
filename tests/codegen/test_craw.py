"""Raw device code in generated C: the user's text under the user's names."""

import pytest
from tests.reflect.kernel_cases import analysed, kernel, lined

from trilby.backend.opencl import OpenCLFamily
from trilby.codegen.opencl_c import generate
from trilby.errors import BuildError
from trilby.tools.emit import emit

PROGRAM = '''
@tb.raw(
    opencl="""
        float s = x * {factor};

        return s;
    """,
    cuda="return x;",
)
def scaled(x: f32) -> f32:
    return x * 2.0

@tb.raw(cuda="return __sinf(x);")
def sine(x: f32) -> f32:
    return math.sin(x)

@tb.raw(opencl="return native_cos(x);")
def cosine(x: f32) -> f32:
    return sine(x + 1.5707964)

@tb.raw(opencl="return {name};")
def named({name}: f32) -> f32:
    return {name}

@tb.raw(opencl="a[0] = a_shape1;", reads="a", writes="a")
def fill(a: NDArray[f32], kc: KernelContext) -> None:
    a[0, 0] = f32(a.shape[1])

@tb.kernel
def k(kc: KernelContext, a: NDArray[f32]) -> None:
    {statement}
'''


def text_of(statement: str, *, lines: bool = False, name: str = "x", factor: str = "2") -> str:
    """The OpenCL C of a kernel with this statement."""
    source = PROGRAM.format(statement=statement, name=name, factor=factor)
    return generate(analysed(kernel(source), (2,)).graph, lines=lines).text


def function(text: str, head: str) -> str:
    """One function of a text."""
    found = text[text.index(head) :]
    return found[: found.index("\n}") + 2]


def test_the_text_stands_as_it_is() -> None:
    text = text_of("a[0, 0] = scaled(1.0)")
    assert function(text, "static inline float tb_scaled") == lined(
        """
        static inline float tb_scaled(float x) {
            float s = x * 2;

            return s;
        }
        """
    )
    assert "a[0] = tb_scaled(1.0f);" in text


def test_every_line_leads_to_its_own_in_python() -> None:
    text = text_of("a[0, 0] = scaled(1.0)", lines=True)
    assert function(text, "static inline float tb_scaled") == lined(
        """
        static inline float tb_scaled(float x) {
        #line 3 "app.py"
            float s = x * 2;

            return s;
        }
        """
    )


def test_n_d_arrays_have_their_shape_beside_them() -> None:
    text = text_of("fill(a, kc)")
    params = "__global float *a, int a_shape0, int a_shape1, KernelContext_t *kc"
    assert f"static inline void tb_fill({params}) {{\n    a[0] = a_shape1;\n}}" in text
    assert "    int local_max_z;\n" in text  # nobody knows what the text asks for


@pytest.mark.parametrize("name", ["sin", "length", "tile", "vload4", "WIDTH"])
def test_parameters_keep_the_names_that_the_user_gave_them(name: str) -> None:
    text = text_of("a[0, 0] = named(1.0)", name=name)
    assert f"static inline float tb_named(float {name}) {{\n    return {name};\n}}" in text


@pytest.mark.parametrize("name", ["float", "kernel", "_x", "größe"])
def test_names_that_c_does_not_have_are_refused(name: str) -> None:
    with pytest.raises(BuildError) as caught:
        text_of("a[0, 0] = named(1.0)", name=name)
    assert caught.value.problem == (
        f"the raw device code of `named` cannot have a parameter `{name}`: that is no name in "
        "opencl"
    )
    assert caught.value.location is not None


def test_a_language_without_a_text_is_told_by_its_keyword() -> None:
    with pytest.raises(BuildError) as caught:
        text_of("a[0, 0] = sine(1.0)")
    assert str(caught.value) == lined(
        """
        app.py:13: `sine` is raw device code, and has none for opencl
          13 | def sine(x: f32) -> f32:
             | ^^^^^^^^^^^^^^^^^^^^^^^^
          help: add `opencl="…"` to its @tb.raw
        """
    )


def test_what_only_the_python_body_calls_is_not_written() -> None:
    text = text_of("a[0, 0] = cosine(1.0)")
    assert "native_cos(x)" in text
    assert "sine(" not in text.replace("cosine(", "")


def test_the_command_shows_it() -> None:
    made = kernel(PROGRAM.format(statement="a[0, 0] = cosine(0.0)", name="x", factor="2"))
    assert "return native_cos(x);" in emit(made, "opencl", ranks=(2,), lines=False)
    model = emit(made, "model", ranks=(2,), lines=False)
    assert 'raw @("x") @() @() @("opencl", "return native_cos(x);") {' in model
    assert "a : NDArray<f32, 2> writes" in emit(made, "access", ranks=(2,), lines=False)


def test_a_mistake_in_the_text_is_the_authors() -> None:
    source = PROGRAM.format(statement="a[0, 0] = scaled(1.0)", name="x", factor="oops")
    backend = OpenCLFamily().open(0)
    with pytest.raises(BuildError) as caught:
        backend.compile(analysed(kernel(source), (2,)).graph)()
    assert caught.value.advice == "this is device code of the @tb.raw `scaled`: correct it"
    assert caught.value.location is not None
    assert (caught.value.location.file, caught.value.location.line) == ("app.py", 3)
