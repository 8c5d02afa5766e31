--------------------------- MODULE TwoStepFaults ----------------------------
(***************************************************************************)
(* Mallocs that release the lock around the driver call, on a driver whose *)
(* calls can fail: see DriverCalls.tla and Faults.tla.  Any action of a    *)
(* malloc can be its last.                                                 *)
(***************************************************************************)
EXTENDS TwoStepMalloc, DriverCalls

RECURSIVE AttemptCalls(_, _, _), MakeRoomCalls(_, _, _)

AttemptCalls(h, p, n) == IF WithinLimit(h, p) THEN <<>> ELSE MakeRoomCalls(h, p, n)

\* The calls of MakeRoom.
MakeRoomCalls(h, p, n) ==
    LET available == ReleaseAvailableCachedBlocks(h, p)
        released(k) == ReleaseCalls(k) \o AttemptCalls(ReleaseCachedBlocks(k), p, 3)
    IN CASE n = 1 /\ available.enough  -> AvailableCalls(h, p) \o AttemptCalls(available.heap, p, 2)
         [] n = 1 /\ ~available.enough -> AvailableCalls(h, p) \o released(available.heap)
         [] n = 2 -> released(h)
         [] OTHER -> <<>>

SearchCalls(h, p) ==
    LET now == ProcessEvents(h)
    IN QueryCalls(h, Streams) \o IF GetFreeBlock(now, p) # {} THEN <<>> ELSE AttemptCalls(now, p, 1)

(***************************************************************************)
(* The steps.                                                              *)
(***************************************************************************)

\* The nth driver call of an action fails.  The malloc in progress whose action it was, if
\* there is one, has ended.
FailedCall(made, n, ended) ==
    /\ n <= Len(made)
    /\ Become(made[n])
    /\ calls' = calls \ ended

FailedSearch(thread, stream, bytes, n) ==
    /\ \A c \in calls : c.thread # thread
    /\ FailedCall(SearchCalls(Heap, AllocParams(stream, bytes, 0)), n, {})
    /\ UNCHANGED programVars

\* The driver grants nothing, and the malloc ends without the lock.
FailedDriverMalloc(thread) ==
    \E c \in calls :
        /\ c.thread = thread /\ ~c.asked
        /\ FailedCall(<<Heap>>, 1, {c})
        /\ UNCHANGED programVars

\* The driver has no memory, whatever the device has.
RefusedDriverMalloc(thread) ==
    \E c \in calls :
        /\ c.thread = thread /\ ~c.asked
        /\ calls' = (calls \ {c}) \cup {[c EXCEPT !.asked = TRUE]}
        /\ UNCHANGED <<heapVars, programVars>>

FailedResume(thread, n) ==
    \E c \in calls :
        /\ c.thread = thread /\ c.asked /\ c.granted = {}
        /\ FailedCall(MakeRoomCalls(Heap, AllocParams(c.stream, c.bytes, 0), c.attempt), n, {c})
        /\ UNCHANGED programVars

FailedEmptyCache(n) ==
    /\ FailedCall(ReleaseCalls(Heap), n, {})
    /\ UNCHANGED programVars

FailedFree(addr, n) ==
    /\ Holds(addr)
    /\ \E b \in AllocatedAt(Heap, addr) : FailedCall(RecordCalls(Heap, b.uses), n, {})
    /\ UNCHANGED programVars

NextOrFault ==
    \/ Next
    \/ \E t \in Threads, s \in Streams, n \in Sizes, i \in 1..MaxDriverCalls : FailedSearch(t, s, n, i)
    \/ \E t \in Threads : FailedDriverMalloc(t)
    \/ \E t \in Threads : RefusedDriverMalloc(t)
    \/ \E t \in Threads, i \in 1..MaxDriverCalls : FailedResume(t, i)
    \/ \E i \in 1..MaxDriverCalls : FailedEmptyCache(i)
    \/ \E a \in Addresses, i \in 1..MaxDriverCalls : FailedFree(a, i)

FaultSpec == Init /\ [][NextOrFault]_twoStepVars
=============================================================================
