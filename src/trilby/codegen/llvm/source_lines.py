"""The lines of Python that instructions come from, in the words of LLVM's debug information.

Profilers and debuggers read them from the object code: they then show the kernel as it was written.
Only lines are told, no variables, so that no optimisation has to keep anything for them.
"""

import posixpath
from typing import TypeAlias

from trilby.analysis.reach import short_name
from trilby.codegen.quoting import llvm_string
from trilby.model.op import Func
from trilby.source import Location

_FIRST = 10
"""Metadata with lower numbers belongs to the module."""

_HEAD = """\
!llvm.dbg.cu = !{{!10}}
!llvm.module.flags = !{{!11, !12}}
!10 = distinct !DICompileUnit(language: DW_LANG_Python, file: !{file}, producer: "trilby", \
isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)
!11 = !{{i32 2, !"Debug Info Version", i32 3}}
!12 = !{{i32 7, !"Dwarf Version", i32 4}}
!13 = !DISubroutineType(types: !0)
!14 = distinct {function}"""

_FUNCTION = """\
!DISubprogram(name: {name}, scope: !{file}, file: !{file}, line: {line}, type: !13, unit: !10, \
spFlags: DISPFlagDefinition | DISPFlagOptimized)"""

_OWN = 5
"""How many of them the head has."""

_KERNEL = 14


Key: TypeAlias = tuple[str | int, ...]


class SourceLines:
    """Gives each place in the source a number, and says at the end what the numbers mean.

    `scope` is the number of the function that the places are in; `numbers` are the definitions.
    """

    def __init__(self, func: Func, numbers: "dict[Key, tuple[int, str]] | None" = None) -> None:
        self._func = func
        self._numbers = {} if numbers is None else numbers
        self._file = self._file_number(func.location.file)
        self.scope = _KERNEL
        if numbers is not None:
            name = short_name(func.name)
            self.scope = self._number(("function", func.name), f"distinct {self._function(name)}")

    def of_function(self, func: Func) -> "SourceLines":
        """The same numbers for a function that the kernel calls."""
        return SourceLines(func, self._numbers)

    def _function(self, name: str) -> str:
        line = max(self._func.location.line, 0)
        return _FUNCTION.format(file=self._file, name=llvm_string(name), line=line)

    def somewhere(self) -> str:
        """What an instruction has at its end whose place is unknown, and which needs one."""
        text = f"!DILocation(line: 0, column: 0, scope: !{self.scope})"
        return f", !dbg !{self._number((0, 0, self.scope), text)}"

    def attached(self, location: Location) -> str:
        """What an instruction of that place has at its end; nothing where the place is unknown."""
        if not location.line:
            return ""
        scope = self.scope
        if location.file != self._func.location.file:  # a helper function of another module
            file = self._file_number(location.file)
            text = f"!DILexicalBlockFile(scope: !{scope}, file: !{file}, discriminator: 0)"
            scope = self._number(("scope", location.file, scope), text)
        key = (location.line, location.column, scope)
        text = f"!DILocation(line: {key[0]}, column: {key[1] + 1}, scope: !{scope})"
        return f", !dbg !{self._number(key, text)}"

    def metadata(self, name: str) -> str:
        """The end of the module, in which the function has that name."""
        head = _HEAD.format(file=self._file, function=self._function(name))
        return "\n".join((head, *(f"!{n} = {text}" for n, text in self._numbers.values())))

    def _file_number(self, file: str) -> int:
        folder, name = posixpath.split(file.replace("\\", "/"))
        text = f"!DIFile(filename: {llvm_string(name)}, directory: {llvm_string(folder or '.')})"
        return self._number(("file", file), text)

    def _number(self, key: Key, text: str) -> int:
        if key not in self._numbers:
            self._numbers[key] = _FIRST + _OWN + len(self._numbers), text
        return self._numbers[key][0]
