------------------------------ MODULE PoolCache -----------------------------
(***************************************************************************)
(* The allocator with private pools, of which programs empty the cache of  *)
(* one: torch.cuda.MemPool does when the pool is deleted (emptyCache with  *)
(* the pool's id).                                                         *)
(*                                                                         *)
(* Deferred frees are processed, the events of the pool's blocks waited    *)
(* for, and what is free of the pool returned to the driver.  A pool in    *)
(* use is left as it is.  While requests are routed to a pool no program   *)
(* does this: PyTorch fails an assertion then.                             *)
(***************************************************************************)
EXTENDS PrivatePools

IsOf(h, b, id) == SegmentOf(h, b).pool = id

\* The events of a pool's blocks are waited for: of each stream, the work before the last of them
\* completes.  Those of other blocks stay.
SynchronizePool(h, id) ==
    LET own(s) == {i \in DOMAIN h.events[s] : IsOf(h, BlockAt(h, h.events[s][i].block), id)}
        completes(s) == IF own(s) = {} THEN 0
                        ELSE h.events[s][CHOOSE i \in own(s) : \A j \in own(s) : j <= i].behind
    IN [h EXCEPT !.work = [s \in Streams |-> SubSeq(@[s], completes(s) + 1, Len(@[s]))],
                 !.events = [s \in Streams |-> [i \in DOMAIN @[s] |-> [@[s][i] EXCEPT !.behind = Max(0, @ - completes(s))]]]]

\* Then they are removed, and their blocks are free.
RECURSIVE FreeAwaited(_, _)
FreeAwaited(h, id) ==
    LET awaited == {b \in h.blocks : b.eventCount > 0 /\ IsOf(h, b, id)}
        b == CHOOSE c \in awaited : \A d \in awaited : c.addr <= d.addr
        free == [b EXCEPT !.eventCount = 0]
    IN IF awaited = {} THEN h
       ELSE FreeAwaited(FreeBlock([h EXCEPT !.blocks = (@ \ {b}) \cup {free},
                                            !.events = [s \in Streams |-> SelectSeq(@[s], LAMBDA e : e.block # b.addr)]],
                                  free), id)

EmptyPoolResult(h, id) ==
    IF id \in Freeable(h)
    THEN ReleaseFreeable(FreeAwaited(SynchronizePool(ResolveDeferred(h), id), id), {id})
    ELSE h

EmptyPool(id) ==
    /\ captures = <<>>
    /\ BecomeWithPools(EmptyPoolResult(PoolHeap, id))
    /\ UNCHANGED programVars

NextEmptying ==
    \/ Next
    \/ \E id \in PoolIds : EmptyPool(id)

SpecEmptying == Init /\ [][NextEmptying]_vars

(***************************************************************************)
(* What a program is owed.  (Properties of steps.)                         *)
(***************************************************************************)

PoolsBlocks(id, bs, gs) == {b \in bs : \E g \in gs : Inside(b, g) /\ g.pool = id}

\* Of a pool without uses nothing waits afterwards, nothing that is free stays that the driver can take
\* back, and the pool is erased if it has no memory.
EmptyPoolReleasesAll ==
    [][\A id \in PoolIds : EmptyPool(id) /\ UseCount(id) = 0 =>
          LET left == PoolsBlocks(id, blocks', segments')
          IN /\ left \cap Waiting' = {}
             /\ \A g \in segments' : g.pool = id =>
                    IF ExpandableSegments
                    THEN \A y \in device' : Inside(y, g) => \E b \in left : b.allocated /\ Overlap(b, y)
                    ELSE \E b \in left : Inside(b, g) /\ b.allocated
             /\ \/ \E y \in device', g \in segments' : Inside(y, g) /\ g.pool = id
                \/ \A q \in pools' : q.id = id => ExpandableSegments /\ q.driverSegments > 0]_vars

\* It returns no memory of other pools, and none of a pool in use.
EmptyPoolReturnsItsOwn ==
    [][\A id \in PoolIds : EmptyPool(id) =>
          \A y \in Returned, g \in segments : Inside(y, g) => g.pool = id /\ UseCount(id) = 0]_vars

\* It waits no longer than for the last event of a block of the pool.  That of a free that was deferred
\* is behind all work of its stream; and a stream whose pages are unmapped is waited for.
EmptyPoolWaitsNoLonger ==
    [][\A id \in PoolIds : EmptyPool(id) =>
          \A s \in Streams :
              LET n == Len(work[s]) - Len(work'[s])
                  own == PoolsBlocks(id, Waiting, segments)
              IN n > 0 =>
                 \/ \E e \in Range(events[s]) : n <= e.behind /\ \E b \in own : b.addr = e.block
                 \/ \E b \in own : s \in b.uses /\ [block |-> b.addr, stream |-> s] \notin captureUses
                 \/ \E y \in Returned : ExpandableSegments /\ y.stream = s]_vars

\* It processes all deferred frees.
EmptyPoolResolves == [][\A id \in PoolIds : EmptyPool(id) /\ UseCount(id) = 0 => deferred' = {}]_vars
=============================================================================
