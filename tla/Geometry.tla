------------------------------ MODULE Geometry ------------------------------
(***************************************************************************)
(* Sizes.  All are numbers of one unit of memory; a device has a few dozen *)
(* units, so that every state can be explored.                             *)
(*                                                                         *)
(* A request is rounded twice: to the size of the block that will serve    *)
(* it, and, if the driver must be called, to the size of a segment.  Small *)
(* and large requests are served from different block pools (small_blocks  *)
(* and large_blocks of a pool, here its kinds), so that small blocks do    *)
(* not fragment the large segments.                                        *)
(***************************************************************************)
EXTENDS Defaults, Integers, FiniteSets, Sequences

RoundUp(n, step) == ((n + step - 1) \div step) * step

\* The least size from n on among the powers of two and the sizes that divide the interval between
\* two of them into Divisions parts.
Pow2Below(n) == CHOOSE p \in 1..n : (\E k \in 0..n : p = 2^k) /\ 2 * p > n
RoundUpToDivision(n) ==
    LET step == Pow2Below(n) \div Divisions IN IF step = 0 THEN RoundUp(n, Pow2Below(n)) ELSE RoundUp(n, step)

RoundSize(n) ==
    IF Divisions = 0
    THEN IF n < MinBlock THEN MinBlock ELSE RoundUp(n, MinBlock)
    ELSE IF n > MinBlock * Divisions THEN RoundUpToDivision(n) ELSE RoundUp(n, MinBlock)

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
BytesOf(x) == x.addr..(End(x) - 1)

RECURSIVE SumOfSizes(_)
SumOfSizes(S) ==
    IF S = {} THEN 0
    ELSE LET x == CHOOSE x \in S : TRUE IN x.size + SumOfSizes(S \ {x})

Range(seq) == {seq[i] : i \in DOMAIN seq}
Last(seq) == seq[Len(seq)]
=============================================================================
