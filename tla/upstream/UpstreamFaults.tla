--------------------------- MODULE UpstreamFaults ---------------------------
(***************************************************************************)
(* What PyTorch does where a driver call fails and the reference deviates; *)
(* see UpstreamPools.tla.  The specification's own rule is that of         *)
(* DriverCalls.tla: the state is that in which the call was made.          *)
(***************************************************************************)
EXTENDS CachingAllocator

(***************************************************************************)
(* failures/event-query: its block waits for ever.                         *)
(***************************************************************************)
FailedQuery(stream) ==
    /\ events[stream] # <<>>
    /\ \A s \in Streams : s < stream => events[s] = <<>>
    /\ Become([Heap EXCEPT !.events[stream] = Tail(@)])
    /\ UNCHANGED programVars

SpecFailedQuery == Init /\ [][Next \/ \E s \in Streams : FailedQuery(s)]_vars

(***************************************************************************)
(* failures/event-record: the block is lost.                               *)
(***************************************************************************)
FailedRecord(addr) ==
    \E b \in blocks :
        /\ b.addr = addr /\ b.allocated /\ b.uses # {}
        /\ LET lost == [b EXCEPT !.allocated = FALSE, !.uses = {}]
               h == AppendUses(Heap, addr)
           IN Become([h EXCEPT !.blocks = (@ \ {b}) \cup {lost}, !.stats.allocated = @ - b.size])
        /\ GiveBack({addr})

SpecFailedRecord == Init /\ [][Next \/ \E a \in Addresses : FailedRecord(a)]_vars

(***************************************************************************)
(* failures/page-map: the driver's pages belong to no segment.             *)
(***************************************************************************)
FailedMap(stream, bytes) ==
    LET p == AllocParams(stream, bytes, 0)
        h == ProcessEvents(Heap)
        ready == IF FindExpandableBlock(h, p) = {} THEN ReserveSegment(h, p) ELSE h
        b == First(FindExpandableBlock(ready, p))
        grown == MapBlock(ready, b, p.size)
    IN /\ GetFreeBlock(h, p) = {}
       /\ ~b.mapped /\ grown.found # {}
       /\ Cardinality(grown.heap.device) > Cardinality(ready.device) + 1
       /\ Become([ready EXCEPT !.device = grown.heap.device])
       /\ UNCHANGED programVars

SpecFailedMap == Init /\ [][Next \/ \E s \in Streams, n \in Sizes : FailedMap(s, n)]_vars

(***************************************************************************)
(* failures/page-unmap: here the second page of a block.                   *)
(***************************************************************************)
FailedUnmap ==
    LET h == SynchronizeAndFreeEvents(Heap) IN
    \E b \in {c \in h.blocks : c.addr \in h.cached} :
        LET pages == Within(SegmentOf(h, b), b) IN
        /\ Cardinality(pages) > 1
        /\ Become([h EXCEPT !.device = @ \ {x \in pages : \A y \in pages : x.addr <= y.addr}])
        /\ UNCHANGED programVars

SpecFailedUnmap == Init /\ [][Next \/ FailedUnmap]_vars
=============================================================================
