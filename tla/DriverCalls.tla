---------------------------- MODULE DriverCalls -----------------------------
(***************************************************************************)
(* The driver calls that an operation makes.  A driver call can fail.  The *)
(* operation that made it ends there and returns the driver's error.  What *)
(* it did before stays done, and nothing else is done: the state           *)
(* afterwards is the one in which the call was made.                       *)
(*                                                                         *)
(* So the calls of an operation are a sequence with, for each call, the    *)
(* heap in which it is made.  Calls that are undone together count as one: *)
(* those that create pages, map them and give access to them; to unmap a   *)
(* page and to release it; to create an event and to record it.            *)
(*                                                                         *)
(* Faults.tla, PoolFaults.tla, CaptureFaults.tla, CheckpointFaults.tla and *)
(* TwoStepFaults.tla have the steps in which a call fails.  A driver that  *)
(* has no memory is another matter: a malloc continues.                    *)
(***************************************************************************)
EXTENDS Release

(***************************************************************************)
(* Events.                                                                 *)
(***************************************************************************)

\* The queries of ProcessEvents, stream by stream.  A query of an event that has not
\* completed is the last of its stream.
RECURSIVE QueryCalls(_, _)
QueryCalls(h, streams) ==
    IF streams = {} THEN <<>>
    ELSE LET s == Min(streams) IN
         CASE h.events[s] = <<>> -> QueryCalls(h, streams \ {s})
           [] h.events[s] # <<>> /\ Head(h.events[s]).behind > 0 -> <<h>> \o QueryCalls(h, streams \ {s})
           [] OTHER -> <<h>> \o QueryCalls(CompleteEvent(h, s), streams)

\* The waits of SynchronizeAndFreeEvents.
RECURSIVE SynchronizeCalls(_, _)
SynchronizeCalls(h, streams) ==
    IF streams = {} THEN <<>>
    ELSE LET s == Min(streams) IN
         IF h.events[s] = <<>> THEN SynchronizeCalls(h, streams \ {s})
         ELSE LET waited == Done(h, s, Head(h.events[s]).behind)
              IN <<h>> \o SynchronizeCalls(CompleteEvent(waited, s), streams)

\* One event for each stream use of a block: that many calls in the same heap, since none
\* of the events counts before all are recorded.
RecordCalls(h, uses) == [i \in 1..Cardinality(uses) |-> h]

(***************************************************************************)
(* Releasing memory.  Of the default pool large blocks are released first, *)
(* of a private pool small ones; then it is in the order of the free       *)
(* lists: by stream, size, address.                                        *)
(***************************************************************************)
ReleasedBefore(h, b, c) ==
    LET g == SegmentOf(h, b)
        k == SegmentOf(h, c)
        firstKind == IF g.pool = 0 THEN "large" ELSE "small"
    IN \/ g.kind = firstKind /\ k.kind # firstKind
       \/ g.kind = k.kind /\ g.stream < k.stream
       \/ g.kind = k.kind /\ g.stream = k.stream /\ Before(b, c)

FirstReleased(h, bs) == CHOOSE b \in bs : \A c \in bs \ {b} : ReleasedBefore(h, b, c)

RECURSIVE FreeCalls(_, _)
FreeCalls(h, bs) ==
    IF bs = {} THEN <<>>
    ELSE LET b == FirstReleased(h, bs) IN <<h>> \o FreeCalls(ReleaseSegments(h, {b}), bs \ {b})

\* For each free block the driver is asked whether the segment's stream is captured: then
\* its pages stay.  Else they are unmapped from the lowest on, after a wait for the stream.
\* If no page of the segment is left, its addresses are freed last.
UnmapBlockCalls(h, b) ==
    LET g        == SegmentOf(h, b)
        pages    == Unmappable(h, b)
        first(i) == {x \in pages : Cardinality({y \in pages : y.addr < x.addr}) < i}
        unmapped(i) == IF i = 0 THEN DoneAll(h, g.stream) ELSE UnmapPages(h, b, first(i)).heap
        freesAddresses == UnmapPages(h, b, pages).block.size = g.size
    IN <<h>> \o IF pages = {} THEN <<>>
                ELSE <<h>> \o [i \in 1..Cardinality(pages) |-> unmapped(i - 1)]
                           \o IF freesAddresses THEN <<unmapped(Cardinality(pages))>> ELSE <<>>

RECURSIVE UnmapCalls(_, _)
UnmapCalls(h, bs) ==
    IF bs = {} THEN <<>>
    ELSE LET b == FirstReleased(h, bs) IN UnmapBlockCalls(h, b) \o UnmapCalls(UnmapBlock(h, b), bs \ {b})

\* The calls of ReleaseBlocks.
ReleaseBlocksCalls(h, pool) ==
    IF ExpandableSegments
    THEN UnmapCalls(h, {b \in h.blocks : b.addr \in h.cached /\ SegmentOf(h, b).pool = pool})
    ELSE FreeCalls(h, Releasable(h, pool))

\* The calls of ReleaseCachedBlocks.
ReleaseCalls(h) ==
    SynchronizeCalls(h, Streams) \o ReleaseBlocksCalls(SynchronizeAndFreeEvents(h), 0)

\* The calls of ReleaseAvailableCachedBlocks: the largest block first.  An oversize
\* block that is released alone is the only one.
AvailableCalls(h, p) ==
    LET after == ReleaseAvailableCachedBlocks(h, p).heap
        going == {b \in h.blocks : b \notin after.blocks}
        before(b) == {c \in going : Before(b, c)}
    IN [i \in 1..Cardinality(going) |-> ReleaseSegments(h, {b \in going : Cardinality(before(b)) < i - 1})]

(***************************************************************************)
(* Obtaining memory.                                                       *)
(***************************************************************************)

\* The calls of GrowBlock, up to the one for which the device has no memory.
RECURSIVE MapCalls(_, _, _)
MapCalls(h, b, p) ==
    IF b.mapped /\ b.size >= p.size THEN <<>>
    ELSE LET start == IF b.mapped THEN First(Following(h, b)) ELSE b
             lacking == p.size - (IF b.mapped THEN b.size ELSE 0)
             mapped == MapBlock(h, start, IF start.size < lacking THEN start.size ELSE lacking)
         IN <<h>> \o IF mapped.found = {} THEN <<>> ELSE MapCalls(mapped.heap, First(mapped.found), p)

\* The heap with an expandable segment that has room for the request.
Reserved(h, p) == IF FindExpandableBlock(h, p) = {} THEN ReserveSegment(h, p) ELSE h

\* The calls of AllocBlock.
AllocCalls(h, p) ==
    IF ~WithinLimit(h, p) THEN <<>>
    ELSE IF ~ExpandableSegments THEN <<h>>
    ELSE LET ready == Reserved(h, p)
         IN (IF FindExpandableBlock(h, p) = {} THEN <<h>> ELSE <<>>)
            \o MapCalls(ready, First(FindExpandableBlock(ready, p)), p)

\* An attempt for which the driver has no memory, whatever the device has.
RefusedBlock(h, p) ==
    [heap |-> IF ExpandableSegments THEN Reserved(h, p) ELSE h, found |-> {}]
=============================================================================
