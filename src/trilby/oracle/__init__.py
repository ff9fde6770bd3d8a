"""The least that has to move in a run: computed from what was touched, and from nothing else.

    trace = Trace()
    a = trace.buffer("a", 400)
    whole = [(0, 400)]
    trace.touch("gpu", {a: Access(writes=whole, covers=whole)}, "fill")
    trace.touch("host", {a: Access(reads=whole)}, "print(a)")
    print(minimum(trace))

The oracle shares no code with the runtime, so that each can be measured by the other.
"""

from trilby.oracle.excess import CopyMade as CopyMade
from trilby.oracle.excess import Excess as Excess
from trilby.oracle.excess import Kind as Kind
from trilby.oracle.excess import excess as excess
from trilby.oracle.minimum import BufferMinimum as BufferMinimum
from trilby.oracle.minimum import Minimum as Minimum
from trilby.oracle.minimum import minimum as minimum
from trilby.oracle.trace import Access as Access
from trilby.oracle.trace import Touch as Touch
from trilby.oracle.trace import Trace as Trace
from trilby.oracle.trace import TracedBuffer as TracedBuffer
