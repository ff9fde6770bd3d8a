"""The head of a C function, and what it does before its first statement."""

from trilby.codegen.cfunction import FunctionWriter
from trilby.codegen.cmemory import cache_fields
from trilby.codegen.text import Text
from trilby.data.dtypes import F16, ScalarType, Type
from trilby.data.schema import BufferType, NDArrayType
from trilby.model.value import KERNEL_CONTEXT, Value

SIZES = ("max_x", "max_y", "max_z")


def head(writer: FunctionWriter) -> str:
    """`static inline int square(int v) {`, with names given to the parameters."""
    module, function = writer.module, writer.function
    params = ", ".join(_parameters(writer))
    name = module.functions[function.name]
    if function.kind == "kernel":
        return f"{module.dialect.kernel} {name}({params}) {{"
    return f"{module.dialect.helper} {module.value_type(function.result)}{name}({params}) {{"


def _parameters(writer: FunctionWriter) -> list[str]:
    is_kernel = writer.function.kind == "kernel"
    texts: list[str] = []
    for param in writer.function.params:
        if param.type == KERNEL_CONTEXT and is_kernel:
            writer.texts[param] = Text("kc")
            continue
        name = writer.names.fresh(param.hint)
        writer.texts[param] = Text(name)
        texts.append(f"{_parameter_type(writer, param.type)}{name}")
        texts.extend(_shape_parameters(writer, param, name))
    return [*texts, *(f"int {size}" for size in SIZES if is_kernel)]


def _parameter_type(writer: FunctionWriter, type_: Type) -> str:
    """Kernels get numbers as they are stored: a bool is a byte at that border."""
    if writer.function.kind == "kernel" and isinstance(type_, ScalarType):
        return f"{writer.module.structs.stored(type_)} "
    return writer.module.value_type(type_)


def _shape_parameters(writer: FunctionWriter, param: Value, name: str) -> list[str]:
    if not isinstance(param.type, NDArrayType):
        return []
    axes = [writer.names.fresh(f"{name}_shape{axis}") for axis in range(param.type.rank)]
    writer.shapes[param] = tuple(Text(axis) for axis in axes)
    return [f"int {axis}" for axis in axes]


def prologue(writer: FunctionWriter) -> None:
    """Fill the kernel context, leave if outside the range, find the fields of buffers."""
    if writer.function.kind == "kernel":
        _context(writer)
        _arguments_from_storage(writer)
    for param in writer.function.params:
        if isinstance(param.type, BufferType):
            cache_fields(writer, param, param.type)


def _context(writer: FunctionWriter) -> None:
    writer.line("KernelContext_t kernel_context;")
    writer.line("KernelContext_t *kc = &kernel_context;")
    for name in writer.module.grid_fields:
        source = name if name in SIZES else writer.module.dialect.grid.get(name, "0")
        writer.line(f"kc->{name} = {source};")
    writer.line("if (kc->x >= max_x || kc->y >= max_y || kc->z >= max_z) return;")


def _arguments_from_storage(writer: FunctionWriter) -> None:
    """Bring bools and halves from their stored form to values."""
    dialect = writer.module.dialect
    for param in writer.function.params:
        if isinstance(param.type, ScalarType) and param.type in dialect.stored:
            name = writer.texts[param].text
            is_half = param.type is F16
            text = dialect.half_load.format(f"&{name}", "") if is_half else f"{name} != 0"
            value = writer.names.fresh(f"{name}_value")
            writer.line(f"{writer.module.value_type(param.type)}{value} = {text};")
            writer.texts[param] = Text(value)
