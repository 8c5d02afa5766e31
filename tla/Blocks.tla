------------------------------- MODULE Blocks -------------------------------
(***************************************************************************)
(* Segments and blocks.                                                    *)
(*                                                                         *)
(* A segment is memory that the driver granted in one piece.  It belongs   *)
(* to a stream and to one kind of a pool, and is split into blocks.  A     *)
(* block is allocated or free as a whole.                                  *)
(*                                                                         *)
(* The operators here and in the modules that build on this one take a     *)
(* heap h, a record with a field for each variable of the device and of    *)
(* the allocator, and return the heap afterwards.  A malloc, which does    *)
(* many things, is written as these operators one after the other.         *)
(*                                                                         *)
(*   h.segments   set of [addr, size, stream, pool, kind]                  *)
(*   h.blocks     set of [addr, size, requested, allocated, mapped,        *)
(*                        eventCount, uses]; with Ties the number made too *)
(*   h.cached     the addresses of the blocks on the free lists            *)
(*   h.stats      the statistics that the allocator maintains              *)
(*                                                                         *)
(* A block's requested is 0 while it is inactive.                          *)
(***************************************************************************)
EXTENDS Geometry

\* A request: its stream, its bytes, and what follows from them.
AllocParams(stream, bytes, pool) ==
    LET size == RoundSize(bytes) IN
    [stream |-> stream, requested |-> bytes, size |-> size,
     allocSize |-> AllocationSize(size), pool |-> pool, kind |-> KindOf(size),
     maxSplit |-> MaxSplitSize]

NewBlock(addr, size) ==
    [addr |-> addr, size |-> size, requested |-> 0, allocated |-> FALSE,
     mapped |-> TRUE, eventCount |-> 0, uses |-> {}]

(***************************************************************************)
(* Unless Ties is "address" a block has a number, made: with "segment"     *)
(* that of its segment, with "block" its own.  A segment has its number    *)
(* for good.  Blocks are counted as upstream counts its Block objects: of  *)
(* two parts the lower one is new, and a merge keeps the number of the     *)
(* block that is freed or mapped.  The numbers say nothing but an order:   *)
(* those of a state have no gaps (Renumbered).                             *)
(***************************************************************************)
Numbered(b, n) ==
    [addr |-> b.addr, size |-> b.size, requested |-> b.requested, allocated |-> b.allocated,
     mapped |-> b.mapped, eventCount |-> b.eventCount, uses |-> b.uses, made |-> n]

\* The number of a new segment, and of a new block with "block".
NextMade(h) ==
    LET all == {0} \cup {b.made : b \in h.blocks} IN 1 + CHOOSE n \in all : \A m \in all : m <= n

\* The number of a block that is made of a part of b.
PartMade(h, b) == IF Ties = "block" THEN NextMade(h) ELSE b.made

Renumbered(bs) == {[b EXCEPT !.made = Cardinality({c.made : c \in {d \in bs : d.made <= @}})] : b \in bs}

BlockAt(h, addr) == CHOOSE b \in h.blocks : b.addr = addr
SegmentOf(h, b) == CHOOSE g \in h.segments : Inside(b, g)
BlocksOf(h, g) == {b \in h.blocks : Inside(b, g)}

\* The block is neither allocated nor used by a stream.  So is an unmapped range.
IsFree(b) == ~b.allocated /\ b.eventCount = 0 /\ b.uses = {}

\* The block is only a part of its segment.
IsSplit(h, b) == b.size < SegmentOf(h, b).size

(***************************************************************************)
(* Best fit: the smallest free block of the stream that is large enough,   *)
(* at the lowest address among equals, or the one that was made first.     *)
(***************************************************************************)

\* What the free list of a stream in one kind of a pool holds.
FreeList(h, pool, kind, stream) ==
    {b \in h.blocks : /\ b.addr \in h.cached
                      /\ LET g == SegmentOf(h, b)
                         IN g.stream = stream /\ g.pool = pool /\ g.kind = kind}

Before(b, c) ==
    IF Ties = "address"
    THEN b.size < c.size \/ (b.size = c.size /\ b.addr < c.addr)
    ELSE \/ b.size < c.size
         \/ b.size = c.size /\ b.made < c.made
         \/ b.size = c.size /\ b.made = c.made /\ b.addr < c.addr
First(S) == CHOOSE b \in S : \A c \in S \ {b} : Before(b, c)

\* Oversize blocks serve only requests of about their size.
TooLarge(b, p) ==
    IF p.size < p.maxSplit
    THEN b.size >= p.maxSplit
    ELSE b.size >= p.size + MaxNonSplitRounding

\* The size that a free block can have when what follows it is mapped.
GrowableSize(h, b) ==
    b.size + SumOfSizes({c \in h.blocks : /\ c.addr = End(b) /\ ~c.mapped
                                          /\ SegmentOf(h, c) = SegmentOf(h, b)})

\* In expandable segments a block at the edge of what is mapped counts as large
\* as it can grow, so that a small request does not split the range that a large
\* one could grow into.  The search continues while the next block is smaller in
\* this sense.
RECURSIVE PassGrowable(_, _, _)
PassGrowable(h, list, b) ==
    LET rest == {c \in list : Before(b, c)}
    IN IF rest = {} THEN b
       ELSE LET next == First(rest) IN
            IF GrowableSize(h, next) >= GrowableSize(h, b) THEN b ELSE PassGrowable(h, rest, next)

BestFit(h, fits) ==
    IF ExpandableSegments THEN PassGrowable(h, fits, First(fits)) ELSE First(fits)

\* The set of the block that is found, empty if there is none.  If the best
\* fit is too large nothing is found: there is no second candidate.
GetFreeBlock(h, p) ==
    LET fits == {b \in FreeList(h, p.pool, p.kind, p.stream) : b.size >= p.size}
    IN IF fits = {} \/ TooLarge(BestFit(h, fits), p) THEN {} ELSE {BestFit(h, fits)}

(***************************************************************************)
(* Allocating from a free block.  The request takes the low addresses; the *)
(* remainder goes to the free list, if it is large enough to be split off. *)
(***************************************************************************)

ShouldSplit(b, p) ==
    LET rest == b.size - p.size IN
    IF p.kind = "small" \/ ExpandableSegments
    THEN rest >= MinBlock
    ELSE p.size < p.maxSplit /\ rest > SmallSize

\* How inactiveSplit changes when size bytes of a free block are allocated.
\* Expandable segments do not count.
InactiveSplitOnAlloc(h, b, size) ==
    CASE ExpandableSegments -> 0
      [] ~ExpandableSegments /\ IsSplit(h, b) -> -size
      [] ~ExpandableSegments /\ ~IsSplit(h, b) /\ size < b.size -> b.size - size
      [] OTHER -> 0

\* The low bytes of a free block are allocated.
AllocBytes(h, b, size, requested) ==
    LET low  == IF Ties = "block" /\ size < b.size
                THEN [b EXCEPT !.size = size, !.allocated = TRUE, !.requested = requested, !.made = NextMade(h)]
                ELSE [b EXCEPT !.size = size, !.allocated = TRUE, !.requested = requested]
        rest == IF size < b.size
                THEN {[b EXCEPT !.addr = @ + size, !.size = @ - size]}
                ELSE {}
    IN [h EXCEPT !.blocks = (@ \ {b}) \cup {low} \cup rest,
                 !.cached = (@ \ {b.addr}) \cup {r.addr : r \in rest},
                 !.stats.allocated = @ + size,
                 !.stats.active = @ + size,
                 !.stats.inactiveSplit = @ + InactiveSplitOnAlloc(h, b, size)]

\* A block of a pool that is marked no_split is allocated whole.
AllocFoundBlock(h, p, b) ==
    AllocBytes(h, b, IF (IF NoSplitPools = {} THEN TRUE ELSE SegmentOf(h, b).pool \notin NoSplitPools) /\ ShouldSplit(b, p) THEN p.size ELSE b.size, p.requested)

(***************************************************************************)
(* Freeing a block.                                                        *)
(***************************************************************************)

\* The free neighbours that b is merged with.
Mergeable(h, b) ==
    {c \in h.blocks : /\ End(c) = b.addr \/ End(b) = c.addr
                      /\ SegmentOf(h, c) = SegmentOf(h, b)
                      /\ IsFree(c)
                      /\ c.mapped = b.mapped}

TryMergeBlocks(h, b) ==
    LET parts == {b} \cup Mergeable(h, b)
    IN IF Ties = "address"
       THEN [NewBlock(Min({c.addr : c \in parts}), SumOfSizes(parts)) EXCEPT !.mapped = b.mapped]
       ELSE Numbered([NewBlock(Min({c.addr : c \in parts}), SumOfSizes(parts)) EXCEPT !.mapped = b.mapped], b.made)

\* How inactiveSplit changes when a freed block absorbs its neighbours.
InactiveSplitOnFree(h, absorbed, merged) ==
    CASE ExpandableSegments -> 0
      [] ~ExpandableSegments /\ IsSplit(h, merged) -> merged.size - SumOfSizes(absorbed)
      [] OTHER -> -SumOfSizes(absorbed)

\* The block is not allocated any more.
NotAllocated(b) == [b EXCEPT !.allocated = FALSE]

TakeBack(h, b) ==
    [h EXCEPT !.blocks = (@ \ {b}) \cup {NotAllocated(b)}, !.stats.allocated = @ - b.size]

\* A block that is neither allocated nor used any more is merged and goes to the
\* free list.
FreeBlock(h, b) ==
    LET merged == TryMergeBlocks(h, b)
        gone   == {c \in h.blocks : Inside(c, merged)}
    IN [h EXCEPT !.blocks = (@ \ gone) \cup {merged},
                 !.cached = (@ \ {c.addr : c \in gone}) \cup {merged.addr},
                 !.stats.active = @ - b.size,
                 !.stats.inactiveSplit = @ + InactiveSplitOnFree(h, gone \ {b}, merged)]
=============================================================================
