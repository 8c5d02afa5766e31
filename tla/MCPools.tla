------------------------------- MODULE MCPools ------------------------------
(***************************************************************************)
(* Private pools and captures at small bounds, and their mutants: see      *)
(* MCCore.tla.                                                             *)
(***************************************************************************)
EXTENDS PrivatePools

\* HeldBlocksAreAwaited: frees in a capture are not deferred, but lost.
LosesFreesInCapture(h, b) ==
    LET back  == NotAllocated(b)
        taken == TakeBack(h, b)
    IN CASE b.uses = {} -> FreeBlock(taken, back)
         [] b.uses # {} /\ CapturesUnderway(h) -> taken
         [] OTHER -> InsertEvents(taken, back)

\* NoReuseWhileInUse: all stream uses are removed when the capture has ended.
DropsAllUses(h, b) ==
    LET left == [b EXCEPT !.uses = {}]
        now  == [h EXCEPT !.deferred = @ \ {b.addr},
                          !.captureUses = {u \in @ : u.block # b.addr},
                          !.blocks = (@ \ {b}) \cup {left}]
    IN FreeBlock(now, left)

\* PoolsOwnTheirBlocks: a freeable pool is erased while memory of it is allocated.
RECURSIVE ErasesPools(_, _)
ErasesPools(h, ids) ==
    IF ids = {} THEN h
    ELSE LET id == Min(ids)
         IN ErasesPools([ReleaseBlocks(h, id) EXCEPT !.pools = {q \in @ : q.id # id}], ids \ {id})

\* CapturedMemoryIsKept: pools are released although they are in use.
EveryPoolIsFreeable(h) == {q.id : q \in h.pools}

\* FreedBecomesReusable: deferred frees are never processed.
NeverResolves(h) == IF CapturesUnderway(h) THEN h ELSE ProcessEvents(h)
=============================================================================
