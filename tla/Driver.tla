------------------------------- MODULE Driver -------------------------------
(***************************************************************************)
(* Memory comes from the driver in segments, against two bounds: the limit *)
(* that the program has set, which the allocator tests, and the memory of  *)
(* the device, which the driver does.                                      *)
(*                                                                         *)
(*   h.device   what the driver has given and not got back, [addr, size]   *)
(*                                                                         *)
(* Where the driver puts a segment does not matter to an allocator.  Here  *)
(* it is the lowest hole that is large enough.  Addresses are not memory:  *)
(* holes may be left below while memory lies above.                        *)
(***************************************************************************)
EXTENDS Events

CONSTANTS
    Memory,  \* of the device
    Limit    \* on what is held from the driver; above Memory: none

\* How long the range of addresses of an expandable segment is: 9/8 of the memory.
ReserveSize(kind) == RoundUp(Memory + Memory \div 8, PageSize(kind))

\* Where blocks may lie, with at most two pools.
Addresses ==
    LET space == IF ExpandableSegments
                 THEN 2 * Cardinality(Streams) * (ReserveSize("small") + ReserveSize("large"))
                 ELSE 2 * Memory
    IN 0..(space - 1)

LowestHole(device, size) ==
    Min({a \in {0} \cup {End(x) : x \in device} :
            \A x \in device : ~Overlap(x, [addr |-> a, size |-> size])})

WithinLimit(h, p) == h.stats.reserved + p.allocSize <= Limit
HasMemory(h, p) == SumOfSizes(h.device) + p.allocSize <= Memory

\* Where the driver puts a segment.
SegmentFor(h, p) ==
    [addr |-> LowestHole(h.device, p.allocSize), size |-> p.allocSize]

\* What the allocator does with it: the segment is one block, which is about to
\* be given out.
AdoptSegment(h, p, range) ==
    LET g == [addr |-> range.addr, size |-> range.size,
              stream |-> p.stream, pool |-> p.pool, kind |-> p.kind]
    IN [h EXCEPT !.segments = @ \cup {g},
                 !.blocks = @ \cup {NewBlock(g.addr, g.size)},
                 !.stats.reserved = @ + g.size]

\* A segment, and a block that is all of it: the set of the block, empty if
\* there is none, and the heap that it is in.
ObtainSegment(h, p) ==
    IF ~HasMemory(h, p)
    THEN [heap |-> h, found |-> {}]
    ELSE LET range == SegmentFor(h, p)
             adopted == AdoptSegment([h EXCEPT !.device = @ \cup {range}], p, range)
         IN [heap |-> adopted, found |-> {BlockAt(adopted, range.addr)}]
=============================================================================
