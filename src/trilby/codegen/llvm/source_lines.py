"""The lines of Python that instructions come from, in the words of LLVM's debug information.

Profilers and debuggers read them from the object code: they then show the kernel as it was written.
Only lines are told, no variables, so that no optimisation has to keep anything for them.
"""

import posixpath

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
!14 = distinct !DISubprogram(name: "{name}", scope: !{file}, file: !{file}, line: {line}, \
type: !13, unit: !10, spFlags: DISPFlagDefinition | DISPFlagOptimized)"""

_OWN = 5
"""How many of them the head has."""


class SourceLines:
    """Gives each place in the source a number, and says at the end what the numbers mean."""

    def __init__(self, func: Func) -> None:
        self._func = func
        self._count = _FIRST + _OWN
        self._numbers: dict[tuple[str, ...] | tuple[int, int, int], int] = {}
        self._texts: list[str] = []
        self._file = self._file_number(func.location.file)

    def attached(self, location: Location) -> str:
        """What an instruction of that place has at its end; nothing where the place is unknown."""
        if not location.line:
            return ""
        scope = 14
        if location.file != self._func.location.file:  # a helper function of another module
            file = self._file_number(location.file)
            text = f"!DILexicalBlockFile(scope: !14, file: !{file}, discriminator: 0)"
            scope = self._number(("scope", location.file), text)
        key = (location.line, location.column, scope)
        text = f"!DILocation(line: {key[0]}, column: {key[1] + 1}, scope: !{scope})"
        return f", !dbg !{self._number(key, text)}"

    def metadata(self, name: str) -> str:
        """The end of the module, in which the function has that name."""
        head = _HEAD.format(file=self._file, name=name, line=max(self._func.location.line, 0))
        return "\n".join((head, *self._texts))

    def _file_number(self, file: str) -> int:
        folder, name = posixpath.split(file.replace("\\", "/"))
        text = f"!DIFile(filename: {llvm_string(name)}, directory: {llvm_string(folder or '.')})"
        return self._number(("file", file), text)

    def _number(self, key: tuple[str, ...] | tuple[int, int, int], text: str) -> int:
        if key not in self._numbers:
            self._numbers[key] = self._count
            self._texts.append(f"!{self._count} = {text}")
            self._count += 1
        return self._numbers[key]
