---------------------------- MODULE Expandable ------------------------------
(***************************************************************************)
(* Expandable segments.  A plain segment keeps its size, and a free block  *)
(* at its end does not serve a request that is a little larger.  An        *)
(* expandable segment is a range of addresses, a little longer than the    *)
(* memory of the device.  Pages are mapped into it when they are needed,   *)
(* and free pages can be unmapped anywhere in it.                          *)
(*                                                                         *)
(*   | block | free | block |  unmapped  | free | block |   unmapped   |   *)
(*   |<------- pages ------>|            |<-- pages --->|                  *)
(*                                                                         *)
(* Blocks and unmapped ranges together cover the segment; they are all     *)
(* blocks, with mapped TRUE or FALSE.  h.device has the pages.             *)
(***************************************************************************)
EXTENDS Driver

Unmapped(addr, size) == [NewBlock(addr, size) EXCEPT !.mapped = FALSE]

\* What follows a block in its segment, as a set of none or one.
Following(h, b) == {c \in h.blocks : c.addr = End(b) /\ SegmentOf(h, c) = SegmentOf(h, b)}
Prev(h, b) == {c \in h.blocks : End(c) = b.addr /\ SegmentOf(h, c) = SegmentOf(h, b)}

(***************************************************************************)
(* Mapping.                                                                *)
(***************************************************************************)

\* The pages that a range touches, and those that lie wholly in it.
Covering(g, x) ==
    LET page == PageSize(g.kind)
        first == (x.addr - g.addr) \div page
        end == (End(x) - g.addr + page - 1) \div page
    IN {[addr |-> g.addr + i * page, size |-> page, stream |-> g.stream] : i \in first..(end - 1)}

Within(g, x) == {page \in Covering(g, x) : Inside(page, x)}

\* A free block is merged with its free neighbours; no statistic changes.
MergeFree(h, b) ==
    LET merged == TryMergeBlocks(h, b)
        gone   == {c \in h.blocks : Inside(c, merged)}
    IN [heap |-> [h EXCEPT !.blocks = (@ \ gone) \cup {merged},
                           !.cached = (@ \ {c.addr : c \in gone})
                               \cup IF b.mapped THEN {merged.addr} ELSE {}],
        block |-> merged]

\* At least the first bytes of an unmapped range are mapped, in whole pages: all
\* of them, or, if the device has too few, none.
MapBlock(h, b, bytes) ==
    LET pages == Covering(SegmentOf(h, b), [addr |-> b.addr, size |-> bytes])
        size  == SumOfSizes(pages)
        fresh == IF Ties = "address" THEN NewBlock(b.addr, size) ELSE Numbered(NewBlock(b.addr, size), b.made)
        rest  == IF size < b.size
                 THEN {IF Ties = "address" THEN Unmapped(b.addr + size, b.size - size)
                       ELSE Numbered(Unmapped(b.addr + size, b.size - size), PartMade(h, b))}
                 ELSE {}
        cut   == [h EXCEPT !.blocks = (@ \ {b}) \cup {fresh} \cup rest,
                           !.device = @ \cup pages,
                           !.stats.reserved = @ + size]
        merged == MergeFree(cut, fresh)
    IN IF SumOfSizes(h.device) + size > Memory
       THEN [heap |-> h, found |-> {}]
       ELSE [heap |-> merged.heap, found |-> {merged.block}]

\* The run of free blocks and unmapped ranges from b on.
RECURSIVE RoomFrom(_, _)
RoomFrom(h, b) ==
    IF ~IsFree(b) THEN 0
    ELSE b.size + IF Following(h, b) = {} THEN 0 ELSE RoomFrom(h, First(Following(h, b)))

\* Where a block of the wanted size could be: at the lowest unmapped range of the
\* stream, or the free block before it, from which there is room.
FindExpandableBlock(h, p) ==
    LET starts == {IF \E c \in Prev(h, b) : IsFree(c) THEN First(Prev(h, b)) ELSE b :
                      b \in {c \in h.blocks : /\ ~c.mapped
                                              /\ LET g == SegmentOf(h, c)
                                                 IN /\ g.stream = p.stream
                                                    /\ g.pool = p.pool
                                                    /\ g.kind = p.kind}}
        good == {b \in starts : RoomFrom(h, b) >= p.size}
    IN {b \in good : \A c \in good : b.addr <= c.addr}

\* A new segment, all of it one unmapped range.
ReserveSegment(h, p) ==
    LET size == ReserveSize(p.kind)
        addr == LowestHole(h.segments, size)
        g == [addr |-> addr, size |-> size, stream |-> p.stream, pool |-> p.pool, kind |-> p.kind]
    IN [h EXCEPT !.segments = @ \cup {g}, !.blocks = @ \cup {IF Ties = "address" THEN Unmapped(addr, size)
                                                                ELSE Numbered(Unmapped(addr, size), NextMade(h))}]

\* Pages are mapped until the block is large enough.  If the device runs out of
\* memory, what was mapped until then stays mapped.
RECURSIVE GrowBlock(_, _, _)
GrowBlock(h, b, p) ==
    IF b.mapped /\ b.size >= p.size THEN [heap |-> h, found |-> {b}]
    ELSE LET start == IF b.mapped THEN First(Following(h, b)) ELSE b
             lacking == p.size - (IF b.mapped THEN b.size ELSE 0)
             mapped == MapBlock(h, start, IF start.size < lacking THEN start.size ELSE lacking)
         IN IF mapped.found = {} THEN mapped ELSE GrowBlock(mapped.heap, First(mapped.found), p)

TryAllocateExpandableBlock(h, p) ==
    LET start == FindExpandableBlock(h, p)
        ready == IF start = {} THEN ReserveSegment(h, p) ELSE h
        block == IF start = {} THEN FindExpandableBlock(ready, p) ELSE start
    IN GrowBlock(ready, First(block), p)

(***************************************************************************)
(* Unmapping.                                                              *)
(***************************************************************************)

\* Before pages are unmapped their stream is synchronized, which is never legal
\* while the stream is captured.  The allocator asks the driver whether it is.
StreamIsCaptured(h, stream) ==
    IF RoutesUncaptured THEN \E c \in Range(h.captures) : c.stream = stream /\ c.pool \notin UncapturedPools
    ELSE \E c \in Range(h.captures) : c.stream = stream

ReturnPages(h, g) == DriverCall(ReturnMemory(h), "wait", StreamIsCaptured(h, g.stream))

\* The pages that a free block can release.
Unmappable(h, b) ==
    LET g == SegmentOf(h, b) IN IF StreamIsCaptured(h, g.stream) THEN {} ELSE Within(g, b)

\* Some pages, one after the other, that lie wholly in a free block are unmapped,
\* when the work in the segment's stream has completed.  What is left of the block
\* before and behind them stays free.
UnmapPages(h, b, pages) ==
    LET size   == SumOfSizes(pages)
        addr   == Min({x.addr : x \in pages})
        before == IF b.addr < addr
                  THEN {IF Ties = "address" THEN NewBlock(b.addr, addr - b.addr)
                        ELSE Numbered(NewBlock(b.addr, addr - b.addr), PartMade(h, b))}
                  ELSE {}
        behind == IF addr + size < End(b)
                  THEN {IF Ties = "address" THEN NewBlock(addr + size, End(b) - addr - size)
                        ELSE Numbered(NewBlock(addr + size, End(b) - addr - size),
                                      PartMade([h EXCEPT !.blocks = @ \cup before], b))}
                  ELSE {}
        left   == before \cup behind
        ready  == DoneAll(h, SegmentOf(h, b).stream)
        cut    == [ready EXCEPT
                            !.blocks = (@ \ {b}) \cup left
                                        \cup {IF Ties = "address" THEN Unmapped(addr, size)
                                              ELSE Numbered(Unmapped(addr, size), b.made)},
                            !.cached = (@ \ {b.addr}) \cup {c.addr : c \in left},
                            !.device = @ \ pages,
                            !.stats.reserved = @ - size]
    IN MergeFree(ReturnPages(cut, SegmentOf(h, b)), IF Ties = "address" THEN Unmapped(addr, size)
                                                      ELSE Numbered(Unmapped(addr, size), b.made))

\* The pages that lie wholly in a free block are unmapped, unless the stream of the
\* segment is captured.  A segment without pages is released, with its addresses.
UnmapBlock(h, b) ==
    LET g        == SegmentOf(h, b)
        pages    == Unmappable(h, b)
        unmapped == UnmapPages(h, b, pages)
    IN CASE pages = {} -> h
         [] pages # {} /\ unmapped.block.size = g.size ->
                [unmapped.heap EXCEPT !.segments = @ \ {g}, !.blocks = @ \ {unmapped.block}]
         [] OTHER -> unmapped.heap

RECURSIVE UnmapBlocks(_, _)
UnmapBlocks(h, bs) ==
    IF bs = {} THEN h
    ELSE LET b == First(bs) IN UnmapBlocks(UnmapBlock(h, b), bs \ {b})

\* A segment for which no page could be mapped has no free block to unmap: it is
\* released as it is.
UnmappedSegments(h, pool) ==
    {g \in h.segments : g.pool = pool /\ \A b \in BlocksOf(h, g) : ~b.mapped}

DropSegments(h, gone) ==
    [h EXCEPT !.segments = @ \ gone,
              !.blocks = {b \in @ : \A g \in gone : ~Inside(b, g)}]

DropUnmappedSegments(h, pool) == DropSegments(h, UnmappedSegments(h, pool))

(***************************************************************************)
(* An attempt to get memory from the driver.  The limit is tested by the   *)
(* size of a plain segment, also when fewer bytes are to be mapped.        *)
(***************************************************************************)
AllocBlock(h, p) ==
    IF ~WithinLimit(h, p) THEN [heap |-> h, found |-> {}]
    ELSE IF ExpandableSegments THEN TryAllocateExpandableBlock(h, p)
    ELSE ObtainSegment(h, p)
=============================================================================
