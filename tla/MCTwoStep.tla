----------------------------- MODULE MCTwoStep ------------------------------
(***************************************************************************)
(* Two threads at small bounds, and mutants: see MCCore.tla.               *)
(***************************************************************************)
EXTENDS TwoStepMalloc

\* NothingIsLostOnTheWay: a segment is registered only if the limit still allows it.
RegistersWithinLimit(h, p, range) ==
    LET g == [addr |-> range.addr, size |-> range.size,
              stream |-> p.stream, pool |-> p.pool, kind |-> p.kind]
        registered == IF h.stats.reserved + g.size <= Limit THEN g.size ELSE 0
    IN [h EXCEPT !.segments = @ \cup {g},
                 !.blocks = @ \cup {NewBlock(g.addr, g.size)},
                 !.stats.reserved = @ + registered]

\* MallocsEnd: the last attempt is made again and again.
NeverGivesUp(h, p, n) ==
    LET released == ReleaseCachedBlocks(h) IN
    IF WithinLimit(released, p)
    THEN [heap |-> released, returned |-> {}, attempt |-> 3]
    ELSE [heap |-> released, returned |-> {}, attempt |-> 0]
=============================================================================
