"""Names that mean something elsewhere: in C and its libraries, OpenCL C, LLVM and Python.

A user may give any of them to a kernel, a device function, a parameter, a variable, a struct or
one of its fields. Names that Python itself does not take are left out.
"""

import builtins
import keyword
from unicodedata import normalize


def usable(text: str) -> list[str]:
    """The words of a text that Python takes for a variable, each once."""
    fine = (
        normalize("NFKC", name)
        for name in text.split()
        if name.isidentifier() and not keyword.iskeyword(name)
    )
    return list(dict.fromkeys(fine))


_LIBM = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2
    expm1 fabs fdim floor fma fmax fmin fmod frexp gamma hypot ilogb isinf isnan j0 j1 jn
    ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint
    nextafter nexttoward pow pow10 remainder remquo rint round roundeven scalbln scalbn
    significand sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn
"""
"""The functions of libm for doubles; those for floats and long doubles end with a letter."""

_LIBC = """
    abort abs accept access alarm asctime atexit atof atoi atol bcmp bcopy bsearch bzero
    calloc close connect ctime daemon difftime div dup environ errno execve exit fclose fflush
    fgets fileno fopen fork fprintf fputs fread free fseek fstat fwrite getc getenv gets
    getpid index ioctl isalpha isdigit kill labs ldiv link listen llabs localtime longjmp
    lseek main malloc memchr memcmp memcpy memmove memset mempcpy mktime mmap mprotect munmap
    nice open pause pipe poll posix_memalign printf pthread_create putchar puts qsort raise
    rand read realloc recv remove rename rindex scanf select send setjmp signal sleep snprintf
    socket sprintf srand stat stderr stdin stdout stpcpy strcat strchr strcmp strcpy strdup
    strlen strncpy strtol strtok_r swab sync syscall system time times tmpfile ungetc unlink
    vfprintf wait write _start _init _exit __stack_chk_fail __libc_start_main _ZGVdN4vv_pow
"""
"""Usual functions and objects of libc, and symbols of its linker."""

_C = """
    auto case char const default do double enum extern float goto inline int long register
    restrict short signed sizeof static struct switch this typedef typeof union unsigned void
    volatile bool true false asm complex imaginary linux unix i386 NULL EOF INT_MAX FLT_MAX
    DBL_EPSILON M_PI INFINITY NAN HUGE_VAL MAXFLOAT CHAR_BIT assert offsetof size_t ptrdiff_t
    int32_t uint8_t time_t wchar_t _Bool _Complex __FILE__ __LINE__ __func__ defined
"""
"""Words, types and macros of C."""

_OPENCL = """
    kernel __kernel global __global local constant private generic uniform pipe read_only
    write_only read_write half quad uchar ushort uint ulong float2 float16 int4 double8
    image2d_t sampler_t event_t queue_t ndrange_t get_global_id get_local_id get_group_id
    get_work_dim get_x barrier mem_fence work_group_barrier prefetch vload4 vload16 vstore16
    vload_half convert_int convert_int_sat as_float as_uint atomic_add atomic_cmpxchg atom_add
    mad mad24 mul24 mul_hi mad_sat add_sat hadd rotate clz popcount clamp mix step smoothstep
    sign cross dot length distance normalize native_sin half_exp fast_length any all bitselect
    shuffle isequal isfinite select rsqrt rootn pown powr sinpi fract maxmag
    async_work_group_copy read_imagef CLK_LOCAL_MEM_FENCE CL_VERSION_1_2 cl_khr_fp64
    FP_FAST_FMA __OPENCL_VERSION__ ALIGN8 MAX_WORK_DIM INTTYPE POCL_H IMG_RO_AQ
    CLK_RGBx vec_step is_beyond_range report_failure KernelContext
    KernelContext_t kernel_context max_x failure trips context pass_id floordiv_i32 min_i32
    tail_padding S32Array_t S32Array_array tb_square
"""
"""Words of OpenCL C, and of the code that is generated around a kernel."""

_LLVM = """
    llvm llvm_sin args launch first count begin scratch entry ptr i32 x86_fp80 define declare
    ret kernel_ free_ attributes poison undef zeroinitializer
"""
"""Words of LLVM IR, and of the code that is generated around a kernel."""

_PYTHON = """
    __builtins__ __name__ __class__ self cls inf nan say divide load_f32 OutOfRangeError math_sin
    loop_range go_on shared at old group bytes n_x at_y
"""
"""Words of the interpreter's own code; the built-ins of Python come to these."""

_BUILTINS = [name for name in dir(builtins) if name != "__debug__"]

_UNICODE = "größe π Δt 変数 _ __ ſ ﬁ 𝛼 x̂ a·b ªb"  # noqa: RUF001 -- the point of the test
"""Identifiers that C does not have; Python normalises some of them."""

FAMILIES = {
    "libm": usable(" ".join(f"{name} {name}f {name}l" for name in _LIBM.split())),
    "libc": usable(_LIBC),
    "c": usable(_C),
    "opencl": usable(_OPENCL),
    "llvm": usable(_LLVM),
    "python": usable(" ".join([*_BUILTINS, *keyword.softkwlist, _PYTHON])),
    "unicode": usable(_UNICODE),
}
ALL = usable(" ".join(name for family in FAMILIES.values() for name in family))
