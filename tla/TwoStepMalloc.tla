--------------------------- MODULE TwoStepMalloc ----------------------------
(***************************************************************************)
(* A malloc with the lock released around the driver call                  *)
(* (release_lock_on_cudamalloc).  Asking the driver can be slow, so others *)
(* may use the allocator meanwhile, and find and change everything.  A     *)
(* malloc that the cache cannot serve is then several actions:             *)
(*                                                                         *)
(*   MallocSearch   the cache is searched, the limit is tested             *)
(*   DriverMalloc   the driver grants a segment, or refuses                *)
(*   MallocResume   the segment is registered; or room is made, and the    *)
(*                  limit tested, for the next attempt                     *)
(*                                                                         *)
(* What follows is no accident but the specification: two mallocs that     *)
(* both find nothing may each get a segment, and may pass the limit        *)
(* together, since neither sees the other's segment before it is           *)
(* registered.                                                             *)
(*                                                                         *)
(*   calls   the mallocs on their way: set of [thread, stream, bytes,      *)
(*           attempt, asked, granted], where granted is what the driver    *)
(*           gave and nobody has registered: none or one [addr, size]      *)
(***************************************************************************)
EXTENDS Invariants

CONSTANTS Sizes, Threads

VARIABLE calls

C == INSTANCE CachingAllocator

twoStepVars == <<device, work, segments, blocks, cached, events, stats, given, calls>>

\* From one release of the lock to the next.  The result has the attempt for
\* which the driver is to be asked now, or 0 if the malloc is over.
RECURSIVE Attempt(_, _, _), MakeRoom(_, _, _)

Attempt(h, p, n) ==
    IF WithinLimit(h, p) THEN [heap |-> h, given |-> {}, attempt |-> n] ELSE MakeRoom(h, p, n)

\* The first time oversize blocks are given back, the second time everything;
\* the third time nothing is left to try.
MakeRoom(h, p, n) ==
    LET available == ReleaseAvailableCachedBlocks(h, p) IN
    CASE n = 1 /\ available.enough  -> Attempt(available.heap, p, 2)
      [] n = 1 /\ ~available.enough -> Attempt(ReleaseCachedBlocks(available.heap), p, 3)
      [] n = 2 -> Attempt(ReleaseCachedBlocks(h), p, 3)
      [] OTHER -> [heap |-> h, given |-> {}, attempt |-> 0]

Finished(result) == [heap |-> result.heap, given |-> result.given, attempt |-> 0]

\* What an action of a malloc leads to.
Proceed(thread, stream, bytes, result) ==
    /\ Become(result.heap)
    /\ given' = Given(result, stream, bytes)
    /\ calls' = {c \in calls : c.thread # thread} \cup
                    IF result.attempt = 0 THEN {}
                    ELSE {[thread |-> thread, stream |-> stream, bytes |-> bytes,
                           attempt |-> result.attempt, asked |-> FALSE, granted |-> {}]}

MallocSearch(thread, stream, bytes) ==
    /\ \A c \in calls : c.thread # thread
    /\ LET p     == AllocParams(stream, bytes, 0)
           now   == ProcessEvents(Heap)
           found == GetFreeBlock(now, p)
       IN Proceed(thread, stream, bytes,
                  IF found # {} THEN Finished(GiveOut(now, p, First(found))) ELSE Attempt(now, p, 1))

\* The driver's part.  Nobody holds the lock.
DriverMalloc(thread) ==
    \E c \in calls :
        LET p == AllocParams(c.stream, c.bytes, 0)
            range == IF HasMemory(Heap, p) THEN {SegmentFor(Heap, p)} ELSE {}
        IN /\ c.thread = thread /\ ~c.asked
           /\ device' = device \cup range
           /\ calls' = (calls \ {c}) \cup {[c EXCEPT !.asked = TRUE, !.granted = range]}
           /\ UNCHANGED <<work, segments, blocks, cached, events, stats, given>>

MallocResume(thread) ==
    \E c \in calls :
        LET p == AllocParams(c.stream, c.bytes, 0)
            range == CHOOSE x \in c.granted : TRUE
            adopted == AdoptSegment(Heap, p, range)
        IN /\ c.thread = thread /\ c.asked
           /\ Proceed(thread, c.stream, c.bytes,
                      IF c.granted = {}
                      THEN MakeRoom(Heap, p, c.attempt)
                      ELSE Finished(GiveOut(adopted, p, BlockAt(adopted, range.addr))))

(***************************************************************************)
(* Everything else is as it was.                                           *)
(***************************************************************************)
Free(addr) == C!Free(addr) /\ UNCHANGED calls
RecordStream(addr, stream) == C!RecordStream(addr, stream) /\ UNCHANGED calls
Complete(stream) == C!Complete(stream) /\ UNCHANGED calls
EmptyCache == C!EmptyCache /\ UNCHANGED calls

Init == InitHeap /\ calls = {}

Next ==
    \/ \E t \in Threads, s \in Streams, n \in Sizes : MallocSearch(t, s, n)
    \/ \E t \in Threads : DriverMalloc(t)
    \/ \E t \in Threads : MallocResume(t)
    \/ \E a \in Addresses : Free(a)
    \/ \E a \in Addresses, s \in Streams : RecordStream(a, s)
    \/ \E s \in Streams : Complete(s)
    \/ EmptyCache

Spec == Init /\ [][Next]_twoStepVars

HeldBlocksAreAwaited == C!HeldBlocksAreAwaited

\* What calls have been granted and not registered counts as well.
NothingIsLostOnTheWay ==
    stats.reserved + SumOfSizes(UNION {c.granted : c \in calls}) = SumOfSizes(device)

\* FAILS.  Two mallocs pass the limit together.
LimitHolds == stats.reserved <= Limit

\* Every malloc ends, if the driver answers and the thread goes on.
Fairness == \A t \in Threads : WF_twoStepVars(DriverMalloc(t)) /\ WF_twoStepVars(MallocResume(t))

FairSpec == Spec /\ Fairness

MallocsEnd == \A t \in Threads : (\E c \in calls : c.thread = t) ~> ~(\E c \in calls : c.thread = t)
=============================================================================
