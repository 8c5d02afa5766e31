---------------------------- MODULE MCExpandable ----------------------------
(***************************************************************************)
(* Expandable segments at small bounds, and their mutants: see MCCore.tla. *)
(***************************************************************************)
EXTENDS OutOfMemory

\* ActiveBlocksAreMapped: of the pages that a block needs only the first is mapped.
FirstPageOnly(g, x) ==
    LET page == PageSize(g.kind)
    IN {[addr |-> g.addr + ((x.addr - g.addr) \div page) * page, size |-> page, stream |-> g.stream]}

MapsOnePage(h, b, bytes) ==
    LET g     == SegmentOf(h, b)
        pages == Covering(g, [addr |-> b.addr, size |-> bytes])
        size  == SumOfSizes(pages)
        fresh == NewBlock(b.addr, size)
        rest  == IF size < b.size THEN {Unmapped(b.addr + size, b.size - size)} ELSE {}
        cut   == [h EXCEPT !.blocks = (@ \ {b}) \cup {fresh} \cup rest,
                           !.device = @ \cup FirstPageOnly(g, b),
                           !.stats.reserved = @ + size]
        merged == MergeFree(cut, fresh)
    IN IF SumOfSizes(h.device) + size > Memory
       THEN [heap |-> h, found |-> {}]
       ELSE [heap |-> merged.heap, found |-> {merged.block}]

\* NoMergeableNeighbours: unmapped ranges are not merged.
MergesMappedOnly(h, b) ==
    LET merged == IF b.mapped THEN TryMergeBlocks(h, b) ELSE b
        gone   == {c \in h.blocks : Inside(c, merged)}
    IN [heap |-> [h EXCEPT !.blocks = (@ \ gone) \cup {merged},
                           !.cached = (@ \ {c.addr : c \in gone})
                               \cup IF b.mapped THEN {merged.addr} ELSE {}],
        block |-> merged]

\* SizesAndAlignment: a free block is unmapped to its last byte.
UnmapsParts(g, x) == {[addr |-> x.addr, size |-> x.size, stream |-> g.stream]}

(***************************************************************************)
(* FAILS.  The limit is tested by the size that a plain segment would      *)
(* have.  Where more is mapped, the limit is passed.                       *)
(***************************************************************************)

(***************************************************************************)
(* FAILS.  Where less would be mapped, a malloc fails although its pages   *)
(* would stay within the limit.                                            *)
(***************************************************************************)
LimitCountsPages ==
    \A s \in Streams, n \in Sizes :
        LET grown == TryAllocateExpandableBlock(ReleaseCachedBlocks(Heap), AllocParams(s, n, 0))
        IN Fails(s, n) /\ grown.found # {} => grown.heap.stats.reserved > Limit
=============================================================================
