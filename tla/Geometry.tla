------------------------------ MODULE Geometry ------------------------------
(***************************************************************************)
(* Sizes.  All are numbers of one unit of memory; a device has a few dozen *)
(* units, so that everything that can happen on it can be looked at.       *)
(*                                                                         *)
(* A request is rounded twice: to the size of the block that will serve    *)
(* it, and, if the driver must be asked, to the size of a segment.  Small  *)
(* and large requests are served from different halves of a pool, its      *)
(* kinds, so that small blocks do not break up the large segments.         *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, Sequences

CONSTANTS
    MinBlock,       \* every block is a multiple of it
    SmallSize,      \* the largest rounded size that is served as small
    SmallBuffer,    \* the size of a small segment
    MinLargeAlloc,  \* from here on a segment fits its request
    LargeBuffer,    \* the size of a segment for requests between the two
    RoundLarge      \* what the larger segments are a multiple of

RoundUp(n, step) == ((n + step - 1) \div step) * step

RoundSize(n) == IF n < MinBlock THEN MinBlock ELSE RoundUp(n, MinBlock)

Kinds == {"small", "large"}

KindOf(size) == IF size <= SmallSize THEN "small" ELSE "large"

AllocationSize(size) ==
    CASE size <= SmallSize -> SmallBuffer
      [] size > SmallSize /\ size < MinLargeAlloc -> LargeBuffer
      [] OTHER -> RoundUp(size, RoundLarge)

\* Pages of expandable segments (Expandable.tla).
PageSize(kind) == IF kind = "small" THEN SmallBuffer ELSE LargeBuffer

Max(a, b) == IF a >= b THEN a ELSE b
Min(S) == CHOOSE n \in S : \A m \in S : n <= m

\* Anything that has an address and a size is a range of memory.
End(x) == x.addr + x.size
Overlap(x, y) == x.addr < End(y) /\ y.addr < End(x)
Inside(x, y) == y.addr <= x.addr /\ End(x) <= End(y)

RECURSIVE SumOfSizes(_)
SumOfSizes(S) ==
    IF S = {} THEN 0
    ELSE LET x == CHOOSE x \in S : TRUE IN x.size + SumOfSizes(S \ {x})

Range(seq) == {seq[i] : i \in 1..Len(seq)}
=============================================================================
