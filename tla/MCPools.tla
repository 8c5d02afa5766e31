------------------------------- MODULE MCPools ------------------------------
(***************************************************************************)
(* Private pools and captures at small bounds, and their mutants: see      *)
(* MCCore.tla.                                                             *)
(***************************************************************************)
EXTENDS PrivatePools

\* HeldBlocksAreAwaited: captures do not put frees off, they forget them.
ForgetsInCapture(h, b) ==
    LET back     == [b EXCEPT !.allocated = FALSE]
        launched == LaunchAll(h, b.uses, b)
        taken    == [launched EXCEPT !.blocks = (@ \ {b}) \cup {back},
                                     !.stats.allocated = @ - b.size]
    IN CASE b.uses = {} -> FreeBlock(taken, back)
         [] b.uses # {} /\ Redirecting(h) -> taken
         [] OTHER -> InsertEvents(taken, back)

\* NoReuseWhileInUse: when the capture is over, no use is left.
DropsAllUses(h, b) ==
    LET left == [b EXCEPT !.uses = {}]
        now  == [h EXCEPT !.deferred = @ \ {b.addr},
                          !.captureUses = {u \in @ : u.block # b.addr},
                          !.blocks = (@ \ {b}) \cup {left}]
    IN FreeBlock(now, left)

\* PoolsOwnTheirBlocks: a freeable pool is forgotten while memory of it is out.
RECURSIVE ForgetsPools(_, _)
ForgetsPools(h, ids) ==
    IF ids = {} THEN h
    ELSE LET id == Min(ids)
         IN ForgetsPools([ReleaseBlocks(h, id) EXCEPT !.pools = {q \in @ : q.id # id}], ids \ {id})

\* CapturedMemoryIsKept: pools are released whether or not they are used.
EveryPoolIsFreeable(h) == {q.id : q \in h.pools}

\* FreedBecomesReusable: what was put off is never looked at again.
NeverResolves(h) == IF Redirecting(h) THEN h ELSE ProcessEvents(h)
=============================================================================
