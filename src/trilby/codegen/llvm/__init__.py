"""LLVM IR for kernels: work items become lanes of vectors, rows of them loops over vectors.

`module.generate(graph, target)` gives the text of a module. It imports no LLVM: a backend compiles
it. The graph has to be behind the `TRANSFORMS` of `target`, by name in `transform.pipelines`.

What a device has to know:

- The entry is `void @NAME(ptr %args, ptr %launch, i64 %first, i64 %count)`. It runs the work
  groups with the linear numbers `first` to `first + count - 1`, those along x first. It gives
  nothing back, is safe to call from many threads at once, and calls nothing but functions of the
  module, the C library's math, `malloc`, `free` and `abort`, and the function of `print`.
- `%args` points to slots of 8 bytes, in the order of a launch's arguments (`backend.base`). A
  buffer or an n-d array is its address; each of its sizes and any other number is itself,
  in the low bytes (a bool is one byte, a 16-bit float its two bytes); a struct by value is the
  address of its bytes.
- `%launch` points to twelve `i64`: the size of the range along x, y, z; the size of a group along
  x, y, z; the number of groups along x, y, z; `pass_id`; the address of the report; the address
  of what is printed. Groups at the far ends may be cut by the range, and the entry leaves out
  what is too much. Where a kernel has neither barriers nor local memory, a device may choose any
  group: long rows suit best.
- The report is four `i32` that are zero: the first work item whose `assert` fails leaves there its
  number in `LlvmModule.asserts`, from 1 on, and its ids. It may be null where there are none. A
  call that finds no memory for large arrays reports so as well.
- What is printed begins with the address of a function, `void (ptr printed, i64 number, i64 count,
  ptr slots)`: `printed` is that place, `number` counts in `LlvmModule.prints`, from 0 on, and
  `slots` has 8 bytes for each of `count` numbers, as in `%args`. Threads call it at any time.
- Where `LlvmTarget.vector_math` is `libmvec`, the module calls functions of that library (such as
  `_ZGVdN4vv_pow`), which the backend has to load before.
"""
