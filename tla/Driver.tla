------------------------------- MODULE Driver -------------------------------
(***************************************************************************)
(* Memory comes from the driver in segments, within two bounds: the limit  *)
(* that the program has set (set_per_process_memory_fraction), which the   *)
(* allocator tests, and the memory of the device, which the driver tests.  *)
(*                                                                         *)
(*   h.device   what is allocated from the driver: set of                  *)
(*              [addr, size, stream], with the stream whose malloc         *)
(*              obtained it.  That stream may have work on all of it, at   *)
(*              any time; such work is in order, so it is not in h.work    *)
(*                                                                         *)
(* Where the driver places a segment does not matter to an allocator.      *)
(* Here it is the lowest hole that is large enough.  Addresses are not     *)
(* memory: there may be holes below an address that is in use.             *)
(***************************************************************************)
EXTENDS Events

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

\* The limit that a program sets as a fraction of the memory: Limit <- AllowedMemory.
AllowedMemory == (Fraction * Memory + IF LimitRounded THEN 50 ELSE 0) \div 100

WithinLimit(h, p) == h.stats.reserved + p.allocSize <= Limit
HasMemory(h, p) == SumOfSizes(h.device) + p.allocSize <= Memory

\* Where the driver places a segment.
SegmentFor(h, p) ==
    [addr |-> LowestHole(h.device, p.allocSize), size |-> p.allocSize, stream |-> p.stream]

\* The allocator registers the segment, as one block that is about to be
\* allocated.
AdoptSegment(h, p, range) ==
    LET g == [addr |-> range.addr, size |-> range.size,
              stream |-> p.stream, pool |-> p.pool, kind |-> p.kind]
    IN [h EXCEPT !.segments = @ \cup {g},
                 !.blocks = @ \cup {IF Ties = "address" THEN NewBlock(g.addr, g.size)
                                    ELSE Numbered(NewBlock(g.addr, g.size), NextMade(h))},
                 !.stats.reserved = @ + g.size]

\* A new segment, and the one block in it: the set of the block, empty if the
\* driver has no memory, and the heap afterwards.
ObtainSegment(h, p) ==
    IF ~HasMemory(h, p)
    THEN [heap |-> h, found |-> {}]
    ELSE LET range == SegmentFor(h, p)
             adopted == AdoptSegment([h EXCEPT !.device = @ \cup {range}], p, range)
         IN [heap |-> adopted, found |-> {BlockAt(adopted, range.addr)}]
=============================================================================
