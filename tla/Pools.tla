------------------------------- MODULE Pools --------------------------------
(***************************************************************************)
(* Private pools.                                                          *)
(*                                                                         *)
(* A captured graph has addresses built in, so what was given out in its   *)
(* capture must not be given to anyone else while it can be launched.      *)
(* Such memory comes from a pool of its own.  A capture of a stream begins *)
(* with a redirection: what is wanted on that stream comes from the pool.  *)
(* The pool lives while its use count is positive; after that it is        *)
(* freeable, and goes when it holds no memory.                             *)
(*                                                                         *)
(*   h.pools         set of [id, useCount]                                 *)
(*   h.redirections  sequence of [pool, stream], the last begun last       *)
(*   h.deferred      addresses of blocks whose free was put off            *)
(*   h.captureUses   uses of blocks that were noted in a capture: set of   *)
(*                   [block, stream, earlier]                              *)
(*                                                                         *)
(* While anything is redirected the driver cannot be asked about events.   *)
(* A block that other streams used is put off when it is freed, until      *)
(* nothing is redirected any more.  Then the uses that were noted in the   *)
(* capture drop out, since a capture joins all of its streams before it    *)
(* ends; the others get their events.                                      *)
(***************************************************************************)
EXTENDS Invariants

VARIABLES pools, redirections, deferred, captureUses

poolVars == <<pools, redirections, deferred, captureUses>>
vars == <<device, work, segments, blocks, cached, events, stats, given, poolVars>>

PoolHeap ==
    [device |-> device, work |-> work, segments |-> segments, blocks |-> blocks,
     cached |-> cached, events |-> events, stats |-> stats, pools |-> pools,
     redirections |-> redirections, deferred |-> deferred, captureUses |-> captureUses]

BecomeWithPools(h) ==
    /\ Become(h)
    /\ pools' = h.pools
    /\ redirections' = h.redirections
    /\ deferred' = h.deferred
    /\ captureUses' = h.captureUses

Redirecting(h) == h.redirections # <<>>

\* The pool of the last redirection of the stream, or the default pool, 0.
ChoosePool(h, stream) ==
    LET accepting == {i \in 1..Len(h.redirections) : h.redirections[i].stream = stream}
    IN IF accepting = {} THEN 0
       ELSE h.redirections[CHOOSE i \in accepting : \A j \in accepting : j <= i].pool

(***************************************************************************)
(* Frees that were put off, in the order of their streams, then addresses. *)
(***************************************************************************)

ResolveOne(h, b) ==
    LET noted == {u.stream : u \in {v \in h.captureUses : v.block = b.addr}}
        left  == [b EXCEPT !.uses = @ \ noted]
        now   == [h EXCEPT !.deferred = @ \ {b.addr},
                           !.captureUses = {u \in @ : u.block # b.addr},
                           !.blocks = (@ \ {b}) \cup {left}]
    IN IF left.uses = {} THEN FreeBlock(now, left) ELSE InsertEvents(now, left)

RECURSIVE ResolveDeferred(_)
ResolveDeferred(h) ==
    IF h.deferred = {} THEN h
    ELSE LET key(a) == <<SegmentOf(h, BlockAt(h, a)).stream, a>>
             first == CHOOSE a \in h.deferred : \A c \in h.deferred :
                          key(a)[1] < key(c)[1] \/ (key(a)[1] = key(c)[1] /\ a <= c)
         IN ResolveDeferred(ResolveOne(h, BlockAt(h, first)))

\* What a malloc does first.
Reclaim(h) == IF Redirecting(h) THEN h ELSE ProcessEvents(ResolveDeferred(h))

(***************************************************************************)
(* Giving back.                                                            *)
(***************************************************************************)

Freeable(h) == {q.id : q \in {r \in h.pools : r.useCount = 0}}

\* What can go of the pools that nobody uses any more.  A pool without memory
\* is forgotten.
RECURSIVE ReleaseFreeable(_, _)
ReleaseFreeable(h, ids) ==
    IF ids = {} THEN h
    ELSE LET id == Min(ids)
             released == DropUnmappedSegments(ReleaseBlocks(h, id), id)
             referred == \/ \E g \in released.segments : g.pool = id
                         \/ \E r \in Range(released.redirections) : r.pool = id
         IN ReleaseFreeable(
                IF referred THEN released
                ELSE [released EXCEPT !.pools = {q \in @ : q.id # id}],
                ids \ {id})

\* Unless something is redirected, events are waited for and the default pool goes.
ReleaseCachedBlocksAndPools(h) ==
    LET default == IF Redirecting(h) THEN h ELSE ReleaseCachedBlocks(ResolveDeferred(h))
    IN ReleaseFreeable(default, Freeable(default))
=============================================================================
