"""Math on vectors by formulas of our own: the same numbers on every processor that fuses.

Each function is within the ulps of the intrinsics' table. Its text is a function of the module,
which LLVM puts in where it is called. What is missing here is left to the C library.
"""
