------------------------------- MODULE Events -------------------------------
(***************************************************************************)
(* Streams and events.                                                     *)
(*                                                                         *)
(* The work of a stream runs in order.  A block belongs to one stream, so  *)
(* it can be allocated again on that stream while earlier work still uses  *)
(* it.  If other streams used it (recordStream), their work must complete  *)
(* first: when the block is freed, an event is recorded behind the work of *)
(* each of them, and the block is not reused until all its events have     *)
(* completed.                                                              *)
(*                                                                         *)
(*   h.work     the pending uses of freed memory by recorded streams: for  *)
(*              each stream, in order, the memory, [addr, size]            *)
(*   h.events   the outstanding events of the allocator: for each stream,  *)
(*              in order, [block, behind]: the address of the block, and   *)
(*              how many pieces of work must complete before the event     *)
(*   h.captures the captures that the program has begun and not ended      *)
(*              (Pools.tla; empty without private pools)                   *)
(*   h.illegal  the kinds of driver calls that were made although a        *)
(*              capture forbids them                                       *)
(*                                                                         *)
(* Work may complete at any time (the action Complete).  The allocator     *)
(* queries its events (ProcessEvents) or waits for them                    *)
(* (SynchronizeAndFreeEvents).                                             *)
(***************************************************************************)
EXTENDS Blocks

\* At the free of memory an entry for its last use by each of these streams is appended.  The
\* use was launched earlier; behind the stream's other entries it counts as pending at least
\* as long as it is.
AppendAll(h, streams, memory) ==
    LET piece == [addr |-> memory.addr, size |-> memory.size]
    IN [h EXCEPT !.work = [s \in Streams |-> IF s \in streams THEN Append(@[s], piece) ELSE @[s]]]

\* The oldest n pieces of work of a stream have completed.
Done(h, stream, n) ==
    [h EXCEPT !.work[stream] = SubSeq(@, n + 1, Len(@)),
              !.events[stream] = [i \in DOMAIN @ |-> [@[i] EXCEPT !.behind = Max(0, @ - n)]]]

\* All work of the device has completed: the driver has freed memory (cudaFree).
DoneEverywhere(h) ==
    [h EXCEPT !.work = [s \in Streams |-> <<>>],
              !.events = [s \in Streams |-> [i \in DOMAIN @[s] |-> [@[s][i] EXCEPT !.behind = 0]]]]

\* All work of a stream has completed.
DoneAll(h, stream) == Done(h, stream, Len(h.work[stream]))

(***************************************************************************)
(* A driver call that a capture forbids is recorded.  No rule of the       *)
(* allocator reads this.  To record an event, to query one or to wait for  *)
(* one is forbidden in every capture: the event may be in a stream whose   *)
(* work goes into the graph, and then never completes.  To free memory, or *)
(* to unmap it, is forbidden unless the captures are relaxed.              *)
(***************************************************************************)
DriverCall(h, kind, forbidden) ==
    IF forbidden THEN [h EXCEPT !.illegal = @ \cup {kind}] ELSE h

\* Requests are routed to a pool for a capture, or, with RoutesUncaptured, without one.
AnyCaptured(routings) == \E c \in Range(routings) : c.pool \notin UncapturedPools

RecordEvent(h) == DriverCall(h, "record", IF RoutesUncaptured THEN AnyCaptured(h.captures) ELSE h.captures # <<>>)

AnyEvents(h) == \E s \in Streams : h.events[s] # <<>>

QueryEvents(h) ==
    IF RoutesUncaptured THEN DriverCall(h, "query", AnyCaptured(h.captures) /\ AnyEvents(h))
    ELSE DriverCall(h, "query", h.captures # <<>> /\ AnyEvents(h))
WaitForEvents(h) ==
    IF RoutesUncaptured THEN DriverCall(h, "wait", AnyCaptured(h.captures) /\ AnyEvents(h))
    ELSE DriverCall(h, "wait", h.captures # <<>> /\ AnyEvents(h))

\* The allocator asks the driver whether it may free memory.
FreeForbidden(h) ==
    IF RoutesUncaptured THEN AnyCaptured(h.captures) /\ ~RelaxedCaptures
    ELSE h.captures # <<>> /\ ~RelaxedCaptures
ReturnMemory(h) == DriverCall(h, "free", FreeForbidden(h))

\* An event is recorded in each of these streams, behind all of its work.
RecordEvents(h, streams, b) ==
    LET event(s) == [block |-> b.addr, behind |-> Len(h.work[s])]
        recorded == [h EXCEPT !.events = [s \in Streams |-> IF s \in streams THEN Append(@[s], event(s)) ELSE @[s]]]
    IN IF streams = {} THEN h ELSE RecordEvent(recorded)

\* The block waits for an event in each of the streams that used it.
InsertEvents(h, b) ==
    LET waiting == [b EXCEPT !.eventCount = Cardinality(b.uses), !.uses = {}]
    IN RecordEvents([h EXCEPT !.blocks = (@ \ {b}) \cup {waiting}], b.uses, b)

\* The oldest event of a stream is removed, and its block freed if no other event
\* is outstanding for it.
CompleteEvent(h, stream) ==
    LET b == BlockAt(h, Head(h.events[stream]).block)
        c == [b EXCEPT !.eventCount = @ - 1]
        removed == [h EXCEPT !.events[stream] = Tail(@),
                             !.blocks = (@ \ {b}) \cup {c}]
    IN IF c.eventCount = 0 THEN FreeBlock(removed, c) ELSE removed

\* The events of each stream are queried in order, up to the first that has not
\* completed.
RECURSIVE ProcessEvents(_)
ProcessEvents(h) ==
    LET ready == {s \in Streams : h.events[s] # <<>> /\ Head(h.events[s]).behind = 0}
        queried == QueryEvents(h)
    IN IF ready = {} THEN queried ELSE ProcessEvents(CompleteEvent(queried, Min(ready)))

\* The allocator waits for all outstanding events: of each stream, the work before the
\* last event completes.
Synchronize(h) ==
    LET completes(s) == IF h.events[s] = <<>> THEN 0 ELSE Last(h.events[s]).behind
    IN [h EXCEPT !.work = [s \in Streams |-> SubSeq(@[s], completes(s) + 1, Len(@[s]))],
                 !.events = [s \in Streams |-> [i \in DOMAIN @[s] |-> [@[s][i] EXCEPT !.behind = 0]]]]

\* They are not queried: where that would be illegal it does not happen.  (Where any routing counts as a
\* capture no event is waited for in one.)
SynchronizeAndFreeEvents(h) ==
    IF Captures = "routing" THEN ProcessEvents(Synchronize(WaitForEvents(h)))
    ELSE LET waited == Synchronize(WaitForEvents(h)) IN [ProcessEvents(waited) EXCEPT !.illegal = waited.illegal]
=============================================================================
