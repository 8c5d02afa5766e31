-------------------------- MODULE UpstreamSettings --------------------------
(***************************************************************************)
(* What PyTorch does where max_split_size has changed and the reference    *)
(* deviates; see UpstreamPools.tla.                                        *)
(***************************************************************************)
EXTENDS Settings

(***************************************************************************)
(* oversize/part-freed: a part of a segment that is passed to cudaFree is  *)
(* freed with all of the segment, if it begins there, and nothing happens  *)
(* but an error otherwise.                                                 *)
(***************************************************************************)
ReleasesParts(h, bs) ==
    LET gone == {b.addr : b \in bs}
        called == IF bs = {} THEN h ELSE ReturnMemory(h)
    IN [called EXCEPT !.segments = {g \in @ : g.addr \notin gone},
                      !.blocks = {b \in @ \ bs : \A g \in h.segments : g.addr \in gone => ~Inside(b, g)},
                      !.cached = {a \in @ \ gone :
                                     \A g \in h.segments : g.addr \in gone => ~(g.addr <= a /\ a < End(g))},
                      !.device = {x \in @ : x.addr \notin gone},
                      !.stats.reserved = @ - SumOfSizes(bs)]

FreesPartsOfSegments(h, p) ==
    LET need     == Max(p.size, p.maxSplit)
        oversize == {b \in FreeList(h, p.pool, p.kind, p.stream) : b.size >= p.maxSplit}
        enough   == {b \in oversize : b.size >= need}
        smaller  == oversize \ enough
        going    == {b \in smaller : SumOfSizes({c \in smaller : Before(b, c)}) < need}
    IN IF enough # {}
       THEN [heap |-> ReleasesParts(h, {First(enough)}), enough |-> TRUE]
       ELSE [heap |-> ReleasesParts(h, going), enough |-> SumOfSizes(going) >= need]
=============================================================================
