--------------------------- MODULE CurrentStream ----------------------------
(***************************************************************************)
(* The allocator with private pools, called by threads of which each has a *)
(* current stream.  Since CapturesByMark what counts as a capture is that  *)
(* of the current stream (Captures = "mark"): another thread goes on as if *)
(* there were none.  Before, any routing of requests counts, whoever calls.*)
(*                                                                         *)
(* The current stream of a malloc is the request's.  That of the others is *)
(* the last argument of the action.  Work that a thread launches while its *)
(* current stream is captured is in the graph.                             *)
(***************************************************************************)
EXTENDS PrivatePools

HeapOn(current) == IF Captures = "routing" THEN PoolHeap ELSE [PoolHeap EXCEPT !.current = current]

FreeOn(addr, current) ==
    /\ Holds(addr)
    /\ BecomeWithPools(FreeAt(AppendUses(HeapOn(current), addr), addr))
    /\ GiveBack({addr})

RecordStreamOn(addr, stream, current) ==
    LET recorded == RecordedAt(PoolHeap, addr, stream)
        uses == {[block |-> addr, stream |-> stream] : b \in recorded}
        captured == StreamIsCaptured(PoolHeap, current)
        isOtherKind(t) == t.addr = addr /\ t.stream = stream /\ t.captured # captured
    IN  /\ HoldsForOther(addr, stream)
        /\ (\E t \in touched : isOtherKind(t)) => RecordsTwice
        /\ touched' = touched \cup {[addr |-> addr, stream |-> stream, captured |-> captured]}
        /\ blocks' = (blocks \ recorded) \cup {[b EXCEPT !.uses = @ \cup {stream}] : b \in recorded}
        /\ captureUses' = captureUses \cup IF CapturesUnderway(HeapOn(current)) THEN uses ELSE {}
        /\ UNCHANGED <<device, work, illegal, segments, cached, events, stats, given, captures,
                       pools, routings, deferred>>

EmptyCacheOn(current) ==
    /\ BecomeWithPools(ReleaseCachedBlocksAndPools(HeapOn(current)))
    /\ UNCHANGED programVars

NextOn ==
    \/ \E s \in Streams, n \in Sizes : Malloc(s, n)
    \/ \E a \in Addresses, c \in Streams : FreeOn(a, c)
    \/ \E a \in Addresses, s \in Streams, c \in Streams : RecordStreamOn(a, s, c)
    \/ \E s \in Streams : Complete(s)
    \/ \E c \in Streams : EmptyCacheOn(c)
    \/ \E id \in PoolIds, s \in Streams : BeginAllocateToPool(id, s)
    \/ \E id \in PoolIds : EndAllocateToPool(id)
    \/ \E id \in PoolIds : ReleasePool(id)

SpecOn == Init /\ [][NextOn]_vars

\* No event was queried while a capture forbids it, whoever's it is.  (A relaxed one does not.)
NoForbiddenQueries == "query" \notin illegal
=============================================================================
