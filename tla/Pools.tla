------------------------------- MODULE Pools --------------------------------
(***************************************************************************)
(* Private pools.                                                          *)
(*                                                                         *)
(* A captured graph has addresses built in, so what was allocated in its   *)
(* capture must not be allocated to anything else while the graph can be   *)
(* launched.  Such memory comes from a private pool.  While a stream is    *)
(* captured, its allocations are routed to the pool.  The pool is in use   *)
(* while its use count is positive; after that it is freeable, and is      *)
(* erased when it holds no memory.                                         *)
(*                                                                         *)
(*   h.pools         set of [id, useCount, driverSegments]                 *)
(*   h.routings      which allocations are routed to a pool (upstream's    *)
(*                   captures_underway): sequence of [pool, stream], the   *)
(*                   last begun last                                       *)
(*   h.deferred      addresses of blocks whose free is deferred (upstream's*)
(*                   needs_events_deferred_until_no_capture)               *)
(*   h.captureUses   stream uses that were recorded in a capture: set of   *)
(*                   [block, stream]                                       *)
(*   h.current       unless Captures is "routing": the current stream of   *)
(*                   the caller; 0 is none of the Streams                  *)
(*                                                                         *)
(* While a capture is underway events cannot be queried.  The free of a    *)
(* block that other streams used is deferred until no capture is underway. *)
(* Then the stream uses that were recorded in the capture are removed,     *)
(* since a capture joins all of its streams before it ends; for the others *)
(* events are recorded.                                                    *)
(***************************************************************************)
EXTENDS Invariants

VARIABLES pools, routings, deferred, captureUses

poolVars == <<pools, routings, deferred, captureUses>>
vars == <<heapVars, programVars, poolVars>>

PoolHeap ==
    IF Captures = "routing"
    THEN [device |-> device, work |-> work, illegal |-> illegal, captures |-> captures,
          segments |-> segments, blocks |-> blocks, cached |-> cached, events |-> events,
          stats |-> stats, pools |-> pools, routings |-> routings, deferred |-> deferred,
          captureUses |-> captureUses]
    ELSE [device |-> device, work |-> work, illegal |-> illegal, captures |-> captures,
          segments |-> segments, blocks |-> blocks, cached |-> cached, events |-> events,
          stats |-> stats, pools |-> pools, routings |-> routings, deferred |-> deferred,
          captureUses |-> captureUses, current |-> 0]

BecomeWithPools(h) ==
    /\ Become(h)
    /\ pools' = h.pools
    /\ routings' = h.routings
    /\ deferred' = h.deferred
    /\ captureUses' = h.captureUses

\* Any routing counts as a capture, or that of the caller's current stream, if it is marked.
CapturesUnderway(h) ==
    IF Captures = "routing" THEN h.routings # <<>>
    ELSE IF MarksCaptures THEN StreamIsCaptured(h, h.current) ELSE FALSE

\* The pool of the last of some routings that accepts a stream (FirstRoutingWins: of the first),
\* or the default pool, 0.
LastPool(list, stream) ==
    LET accepting == SelectSeq(list, LAMBDA r : r.stream = stream)
    IN IF accepting = <<>> THEN 0
       ELSE IF FirstRoutingWins THEN accepting[1].pool ELSE Last(accepting).pool

\* The pool that allocations of the stream are routed to.
ChoosePool(h, stream) == LastPool(h.routings, stream)

(***************************************************************************)
(* Deferred frees, in the order of their streams, then addresses.          *)
(***************************************************************************)

FirstDeferred(h) ==
    LET waiting == {b \in h.blocks : b.addr \in h.deferred}
        stream(b) == SegmentOf(h, b).stream
    IN CHOOSE b \in waiting : \A c \in waiting :
           stream(b) < stream(c) \/ (stream(b) = stream(c) /\ b.addr <= c.addr)

\* The stream uses of a deferred block that were not recorded in the capture.
UsesLeft(h, b) == {s \in b.uses : [block |-> b.addr, stream |-> s] \notin h.captureUses}

ResolveOne(h, b) ==
    LET left == [b EXCEPT !.uses = UsesLeft(h, b)]
        now  == [h EXCEPT !.deferred = @ \ {b.addr},
                          !.captureUses = {u \in @ : u.block # b.addr},
                          !.blocks = (@ \ {b}) \cup {left}]
    IN IF left.uses = {} THEN FreeBlock(now, left) ELSE InsertEvents(now, left)

RECURSIVE ResolveDeferred(_)
ResolveDeferred(h) ==
    IF h.deferred = {} THEN h ELSE ResolveDeferred(ResolveOne(h, FirstDeferred(h)))

\* Those of one pool.
RECURSIVE ResolveDeferredOf(_, _)
ResolveDeferredOf(h, id) ==
    LET own == {a \in h.deferred : SegmentOf(h, BlockAt(h, a)).pool = id}
    IN IF own = {} THEN h
       ELSE ResolveDeferredOf(ResolveOne(h, FirstDeferred([h EXCEPT !.deferred = own])), id)

\* What a malloc does first.
\* A capture of another caller that forbids to free memory forbids to query events.
Reclaim(h) ==
    IF CapturesUnderway(h) THEN h
    ELSE IF Captures # "routing" /\ FreeForbidden(h) THEN ResolveDeferred(h)
    ELSE ProcessEvents(ResolveDeferred(h))

(***************************************************************************)
(* Releasing memory to the driver.                                         *)
(***************************************************************************)

Freeable(h) == {q.id : q \in {r \in h.pools : r.useCount = 0}}

PoolOf(h, id) == CHOOSE q \in h.pools : q.id = id

\* Upstream's cudaMalloc_count of a pool.  With plain segments it is their number.
\* With expandable ones each request that needs pages adds one, whatever is mapped
\* for it, and each free block that pages are unmapped of takes one off.
CountDriverSegments(h, id, change) ==
    [h EXCEPT !.pools = {IF q.id = id THEN [q EXCEPT !.driverSegments = @ + change] ELSE q : q \in @}]

\* How much ReleaseBlocks takes off.
ReleasedDriverSegments(h, id) ==
    IF ExpandableSegments
    THEN Cardinality({b \in h.blocks : /\ b.addr \in h.cached
                                       /\ SegmentOf(h, b).pool = id
                                       /\ Unmappable(h, b) # {}})
    ELSE Cardinality(Releasable(h, id))

ReleasePoolBlocks(h, id) ==
    CountDriverSegments(DropUnmappedSegments(ReleaseBlocks(h, id), id), id, -ReleasedDriverSegments(h, id))

\* The pools that are not in use any more release what they can.  A pool without
\* memory is erased, unless its count of driver segments is positive.
RECURSIVE ReleaseFreeable(_, _)
ReleaseFreeable(h, ids) ==
    IF ids = {} THEN h
    ELSE LET id == Min(ids)
             released == ReleasePoolBlocks(h, id)
             referred == \/ PoolOf(released, id).driverSegments > 0
                         \/ \E g \in released.segments : g.pool = id
                         \/ \E r \in Range(released.routings) : r.pool = id
         IN ReleaseFreeable(
                IF referred THEN released
                ELSE [released EXCEPT !.pools = {q \in @ : q.id # id}],
                ids \ {id})

\* Unless a capture is underway, events are waited for and the default pool is
\* released.  Nothing is released while a capture forbids it.
ReleaseCachedBlocksAndPools(h) ==
    LET default == IF CapturesUnderway(h) THEN h ELSE ReleaseCachedBlocks(ResolveDeferred(h))
    IN IF FreeForbidden(h) THEN h ELSE ReleaseFreeable(default, Freeable(default))
=============================================================================
