"""Statements and control flow, as the C family writes them; and the table of all ops."""

from collections.abc import Callable, Mapping
from typing import Any

from trilby.codegen import cexpressions
from trilby.codegen.cexpressions import choice
from trilby.codegen.cfunction import CFunctionWriter
from trilby.codegen.checked_types import expect, scalar
from trilby.codegen.ctext import (
    AND,
    CHOICE,
    MEMORY,
    OR,
    POSTFIX,
    UNARY,
    Dependence,
    Line,
    Text,
    c_string,
    reads_of,
)
from trilby.data.dtypes import BF16, BOOL, F16, F32, F64, I32, I64, U32, U64, ScalarType, Type
from trilby.data.schema import ArrayType, BufferType, NDArrayType, StructType, leaves, sizes_of
from trilby.model.op import Block, Op, walk
from trilby.model.ops import memory
from trilby.model.ops.arith import BINARIES, COMPARES, UNARIES, Cast, Math
from trilby.model.ops.control import AndThen, Break, Continue, For, If, OrElse, Ternary, While
from trilby.model.ops.core import Call, Constant, Return, Var, VarLoad, VarStore, yielded
from trilby.model.ops.debug import Assert, Print, texts_of
from trilby.model.ops.grid import Barrier, Grid
from trilby.model.ops.structs import Pack, Unpack
from trilby.model.value import NONE, RefType, Value, VarType, space_of

FAILED = "report_failure"

FAILURE_TEXT = """\
{helper} void report_failure(KernelContext_t *kc, int number) {{
    kc->failed = 1;
    if (atomic_cmpxchg(kc->failure, 0, number) == 0) {{
        kc->failure[1] = kc->x;
        kc->failure[2] = kc->y;
        kc->failure[3] = kc->z;
    }}
}}"""
"""The first work item whose `assert` fails leaves its number and its ids."""


def write_block(writer: CFunctionWriter, block: Block) -> None:
    """The statements of a block."""
    for op in block.ops:
        OP_RULES[type(op)](writer, op)


def _braces(writer: CFunctionWriter, block: Block) -> None:
    """The lines of a block, one level deeper; names that end with it are free again."""
    with writer.indented():
        write_block(writer, block)


# -- variables and calls ------------------------------------------------------------------


def _var(writer: CFunctionWriter, op: Var) -> None:
    var = op.value
    content = op.init[0] if op.init else None
    is_named = content in writer.bound and content in writer.variable_names
    if content is not None and is_named and not writer.sizes_with.get(content):
        writer.texts[var] = writer.texts[content]  # nobody else uses it: it is the variable
        return
    type_ = expect(VarType, var.type).of
    texts = writer.parts(content) if content is not None else []
    name = writer.names.fresh(op.name)
    writer.texts[var] = Text(name)
    own = f"{writer.module.value_type(type_)}{name}"
    declared = [own, *cexpressions.size_variables(writer, var, type_, name)]
    for number, declaration in enumerate(declared):
        init = f" = {texts[number]}" if texts else ""
        writer.line(f"{declaration}{init};", op.location)


def _var_load(writer: CFunctionWriter, op: VarLoad) -> None:
    name = writer.texts[op.var].text
    if op.var in writer.sizes_with:
        writer.sizes_with[op.value] = writer.sizes_with[op.var]
    text = Text(name, reads=frozenset({op.var}))
    if op.value in writer.steady:
        writer.give_anywhere(op, text)
    else:
        writer.give(op, text)


def _var_store(writer: CFunctionWriter, op: VarStore) -> None:
    texts = writer.parts(op.stored)
    writer.before_change(op.var)
    targets = [writer.texts[op.var], *writer.sizes_with.get(op.var, {}).values()]
    for target, text in zip(targets, texts, strict=True):
        writer.line(f"{target} = {text};", op.location)


def _acts(writer: CFunctionWriter, op: Call) -> bool:
    """True where a call does more than compute: its callee gets a place in memory, or acts."""
    has_place = any(
        isinstance(a.type, BufferType | NDArrayType | RefType) and space_of(a.type) != "constant"
        for a in op.args
    )
    return has_place or op.callee in writer.module.acting


def _call(writer: CFunctionWriter, op: Call) -> None:
    args = [part for argument in op.args for part in writer.parts(argument)]
    passed = [part.text for part in args]
    if op.callee in writer.module.asserting:
        passed.insert(0, writer.context)
    call = f"{writer.module.functions[op.callee]}({', '.join(passed)})"
    text = Text(call, POSTFIX, reads_of(args))
    if not _acts(writer, op) and op.result is not None:
        writer.give(op, text)
        return
    writer.before_change(MEMORY)
    if op.result is None or not writer.use_count[op.result]:
        writer.line(f"{text};", op.location)
    else:
        writer.bind(op.result, text, op.location)
    if op.callee in writer.module.asserting and not writer.module.waits:
        # Where an `assert` failed in a helper, its callers go no further either. Work items that
        # wait for each other go on to the end, since the others wait for them.
        writer.line(f"if ({writer.context}->failed) {_leave(writer)}", op.location)


def _return(writer: CFunctionWriter, op: Return) -> None:
    value = f" {writer.take(op.returned[0])}" if op.returned else ""
    if op.returned or writer.function.body.ops[-1] is not op:
        writer.line(f"return{value};", op.location)


# -- control flow -------------------------------------------------------------------------


def _if(writer: CFunctionWriter, op: If) -> None:
    condition = writer.take(op.condition)
    writer.settle()
    _branches(writer, op, "", condition)


def _branches(writer: CFunctionWriter, op: If, lead: str, condition: Text) -> None:
    writer.line(f"{lead}if ({condition}) {{", op.location)
    _braces(writer, op.then)
    last = op.otherwise.ops[-1] if op.otherwise.ops else None
    if isinstance(last, If):
        _else_if(writer, op.otherwise, last)
        return
    if last is not None:
        writer.line("} else {")
        _braces(writer, op.otherwise)
    writer.line("}")


def _else_if(writer: CFunctionWriter, block: Block, last: If) -> None:
    """`else if` where the inner condition is one expression, else a block of its own."""
    with writer.captured() as lines, writer.indented():
        write_block(writer, Block(block.ops[:-1]))
        condition = writer.take(last.condition)
        writer.settle()
    if not lines:
        _branches(writer, last, "} else ", condition)
        return
    writer.line("} else {")
    writer.lines(lines)
    with writer.indented():
        _branches(writer, last, "", condition)
    writer.line("}")


def _while(writer: CFunctionWriter, op: While) -> None:
    writer.settle()
    with writer.captured() as lines, writer.indented():
        condition = _yielded(writer, op.test)[0]
    if not lines:
        writer.line(f"{writer.module.guard(op)}while ({condition}) {{", op.location)
    else:
        writer.line(f"{writer.module.guard(op)}while (true) {{", op.location)
        writer.lines(lines)
        with writer.indented():
            writer.line(f"if (!{condition.within(UNARY)}) break;", op.location)
    _braces(writer, op.body)
    writer.line("}")


def _yielded(writer: CFunctionWriter, block: Block) -> list[Text]:
    """Write the ops of a block and give the texts of what it yields."""
    write_block(writer, Block(block.ops[:-1]))
    return writer.parts(yielded(block))


def _for(writer: CFunctionWriter, op: For) -> None:
    start, stop, step = (writer.take(v) for v in (op.start, op.stop, op.step))
    changes = _changes(op.body)
    start = _before_loop(writer, op, op.start, start, {MEMORY})
    stop = _before_loop(writer, op, op.stop, stop, changes)
    step = _before_loop(writer, op, op.step, step, changes)
    writer.settle()
    counter = op.body.params[0]
    name = writer.names.fresh(counter.hint or "i")
    writer.texts[counter] = Text(name)
    type_ = scalar(op.start.type)
    spelling = writer.module.value_type(type_)
    if step.text in {"1", "1u", "1L", "1UL"}:
        turns = f"{spelling}{name} = {start}; {name} < {stop.within(UNARY)}; ++{name}"
    elif step.text in {"-1", "-1L"}:
        turns = f"{spelling}{name} = {start}; {name} > {stop.within(UNARY)}; --{name}"
    else:
        turns = _counted(writer, op, type_, name, (start, stop, step))
    writer.line(f"{writer.module.guard(op)}for ({turns}) {{", op.location)
    _braces(writer, op.body)
    writer.line("}")


def _before_loop(
    writer: CFunctionWriter, op: For, value: Value, text: Text, changes: set[Dependence]
) -> Text:
    """A bound that could change while the loop runs is read before it begins."""
    if not text.reads & changes:
        return text
    writer.bind(value, text, op.location)
    return writer.texts[value]


def _changes(block: Block) -> set[Dependence]:
    """What may change while a block runs: memory also at the hands of other work items."""
    return {MEMORY, *(op.var for op in walk(block) if isinstance(op, VarStore))}


def _is_act(writer: CFunctionWriter, op: Op) -> bool:
    """True for what has an effect and may stand inside an expression."""
    return isinstance(op, memory.AtomicUpdate | memory.CompareExchange) or (
        isinstance(op, Call) and _acts(writer, op)
    )


def _counted(
    writer: CFunctionWriter,
    op: For,
    type_: ScalarType,
    name: str,
    bounds: tuple[Text, Text, Text],
) -> str:
    """Any step: count the turns, so that no bound can be jumped over by wrapping round."""
    start, stop, step = bounds
    unsigned = writer.module.dialect.unsigned[type_]
    trips = writer.module.need("trips", type_)
    count = writer.names.fresh("trips")
    spelling = writer.module.value_type(type_)
    writer.line(f"{unsigned} {count} = {trips}({start}, {stop}, {step});", op.location)
    advance = f"{name} = ({spelling.strip()})(({unsigned}){name} + {step.within(UNARY)})"
    return f"{spelling}{name} = {start}; {count} != 0; --{count}, {advance}"


# -- choices ------------------------------------------------------------------------------


def _ternary(writer: CFunctionWriter, op: Ternary) -> None:
    condition = writer.take(op.condition)
    _settle_if_arms_act(writer, op.then, op.otherwise)
    arms = [_arm(writer, block) for block in (op.then, op.otherwise)]
    if not any(lines for lines, _ in arms) and not sizes_of(op.value.type):
        writer.give(op, choice(condition, arms[0][1][0], arms[1][1][0]))
        return
    value = op.value
    name = writer.variable(value)
    own = f"{writer.module.value_type(value.type)}{name}"
    for declaration in (own, *cexpressions.size_variables(writer, value, value.type, name)):
        writer.line(f"{declaration};", op.location)
    names = [name, *(size.text for size in writer.sizes_with[value].values())]
    writer.line(f"if ({condition}) {{", op.location)
    _assign_arm(writer, op, names, arms[0])
    writer.line("} else {")
    _assign_arm(writer, op, names, arms[1])
    writer.line("}")


def _settle_if_arms_act(writer: CFunctionWriter, *arms: Block) -> None:
    if any(_is_act(writer, op) for arm in arms for op in walk(arm)):
        writer.settle()


def _arm(writer: CFunctionWriter, block: Block) -> tuple[list[Line], list[Text]]:
    """The lines that an arm needs, and the texts of its value."""
    with writer.captured() as lines, writer.indented():
        return lines, _yielded(writer, block)


def _assign_arm(
    writer: CFunctionWriter, op: Op, names: list[str], arm: tuple[list[Line], list[Text]]
) -> None:
    lines, texts = arm
    writer.lines(lines)
    with writer.indented():
        for name, text in zip(names, texts, strict=True):
            writer.line(f"{name} = {text};", op.location)


def _short_circuit(writer: CFunctionWriter, op: AndThen | OrElse) -> None:
    first = writer.take(op.first)
    _settle_if_arms_act(writer, op.rest)
    lines, texts = _arm(writer, op.rest)
    symbol, strength = ("&&", AND) if isinstance(op, AndThen) else ("||", OR)
    if not lines:
        text = f"{_logical(first, strength)} {symbol} {_logical(texts[0], strength)}"
        writer.give(op, Text(text, strength, reads_of([first, texts[0]])))
        return
    name = writer.variable(op.value)
    writer.line(f"{writer.module.value_type(op.value.type)}{name} = {first};", op.location)
    writer.line(f"if ({name if symbol == '&&' else f'!{name}'}) {{", op.location)
    _assign_arm(writer, op, [name], (lines, texts))
    writer.line("}")


def _logical(part: Text, strength: int) -> str:
    """An operand of `&&` or `||`; compilers warn where the two stand side by side."""
    return part.text if part.strength in {*range(AND), strength} else f"({part})"


# -- arrays, barriers, structs -----------------------------------------------------------


def _array(writer: CFunctionWriter, op: memory.LocalArray | memory.PrivateArray) -> None:
    """`__local float tile[16][16];`."""
    made = expect(RefType, op.value.type)
    space = f"{writer.module.dialect.spaces['local']} " if made.space == "local" else ""
    name = writer.names.fresh(op.value.hint or f"{made.space}_array")
    dims = "".join(f"[{dim}]" for dim in expect(ArrayType, made.to).dims)
    writer.line(f"{space}{writer.module.structs.stored(made.to)} {name}{dims};", op.location)
    writer.texts[op.value] = Text(name)


def _barrier(writer: CFunctionWriter, op: Barrier) -> None:
    """What was read from memory before a barrier is read before it in C too."""
    writer.before_change(MEMORY)
    writer.line(writer.module.dialect.barriers[op.scope], op.location)


def _pack(writer: CFunctionWriter, op: Pack) -> None:
    """`(Result_t){.x = a, .y = b}`."""
    struct = expect(StructType, op.value.type)
    parts = [writer.take(part) for part in op.parts]
    structs = writer.module.structs
    members = ", ".join(
        f"{structs.leaf(struct, leaf)} = {cexpressions.to_storage(writer, leaf.type, part)}"
        for leaf, part in zip(leaves(struct), parts, strict=True)
    )
    text = f"({structs.type_name(struct)}){{{members}}}"
    writer.give(op, Text(text, POSTFIX, reads_of(parts)))


def _unpack(writer: CFunctionWriter, op: Unpack) -> None:
    """`p.x`."""
    struct = expect(StructType, op.whole.type)
    whole = writer.take(op.whole)
    leaf = next(leaf for leaf in leaves(struct) if leaf.name == op.leaf)
    text = f"{whole.within(POSTFIX)}{writer.module.structs.leaf(struct, leaf)}"
    if leaf.type.is_half:
        text = f"{writer.module.need('unpack', leaf.type)}({text})"
    elif leaf.type is BOOL:
        text = f"({text} != 0)"
    writer.give(op, Text(text, POSTFIX, whole.reads))


# -- assert and print ----------------------------------------------------------------------------


def _assert(writer: CFunctionWriter, op: Assert) -> None:
    """A work item that fails says so and goes no further."""
    condition = writer.take(op.condition)
    writer.settle()
    module = writer.module
    module.asserts.append((op.message, op.location))
    report = f"{FAILED}({writer.context}, {len(module.asserts)});"
    leave = "" if module.waits else f" {_leave(writer)}"
    writer.line(f"if (!{condition.within(UNARY)}) {{ {report}{leave} }}", op.location)


def _leave(writer: CFunctionWriter) -> str:
    result = writer.function.result
    if result == NONE:
        return "return;"
    if isinstance(result, StructType):
        return f"return ({writer.module.structs.type_name(result)}){{0}};"
    return "return 0;"


_FORMATS: dict[Type, str] = {
    I32: "%d",
    I64: "%ld",
    U32: "%u",
    U64: "%lu",
    F16: "%g",
    BF16: "%g",
    F32: "%g",
    F64: "%lg",
    BOOL: "%s",
}


def _print(writer: CFunctionWriter, op: Print) -> None:
    """`printf`, with a format made of the text."""
    args = [(writer.take(arg), arg.type) for arg in op.args]
    first, *others = (text.replace("%", "%%") for text in texts_of(op.form))
    formats = (_FORMATS.get(type_, "%d") for _, type_ in args)
    form = first + "".join(map("".join, zip(formats, others, strict=True)))
    values = "".join(f", {_promoted(part, type_)}" for part, type_ in args)
    text = c_string(form + "\n")
    writer.line(f"printf({text}{values});", op.location)


def _promoted(part: Text, type_: Type) -> str:
    """Small integers are passed as `int`, bools as the words of Python."""
    if type_ is BOOL:
        return f'{part.within(CHOICE - 1)} ? "True" : "False"'
    return part.text if type_ in _FORMATS else f"(int){part.within(UNARY)}"


OP_RULES: Mapping[type[Op], Callable[[CFunctionWriter, Any], None]] = {
    Constant: lambda writer, op: writer.give_anywhere(op, cexpressions.literal(writer, op)),
    Grid: lambda writer, op: writer.give_anywhere(
        op, Text(f"{writer.take(op.context)}->{op.field}", POSTFIX)
    ),
    **dict.fromkeys(BINARIES, cexpressions.binary),
    **dict.fromkeys(COMPARES, cexpressions.compare),
    **dict.fromkeys(UNARIES, cexpressions.unary),
    Cast: cexpressions.cast,
    Math: cexpressions.math,
    memory.Load: cexpressions.load,
    memory.Store: cexpressions.store,
    memory.Place: cexpressions.reference,
    memory.Extent: lambda writer, op: cexpressions.size(writer, op, f"shape{op.axis}"),
    memory.AtomicUpdate: cexpressions.atomic,
    memory.CompareExchange: cexpressions.atomic,
    memory.LocalArray: _array,
    memory.PrivateArray: _array,
    Barrier: _barrier,
    Pack: _pack,
    Unpack: _unpack,
    Assert: _assert,
    Print: _print,
    Var: _var,
    VarLoad: _var_load,
    VarStore: _var_store,
    Call: _call,
    Return: _return,
    If: _if,
    While: _while,
    For: _for,
    Break: lambda writer, op: writer.line("break;", op.location),
    Continue: lambda writer, op: writer.line("continue;", op.location),
    Ternary: _ternary,
    AndThen: _short_circuit,
    OrElse: _short_circuit,
}
"""How each op is written."""
