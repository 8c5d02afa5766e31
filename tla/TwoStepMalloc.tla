--------------------------- MODULE TwoStepMalloc ----------------------------
(***************************************************************************)
(* A malloc that releases the lock around the driver call                  *)
(* (release_lock_on_cudamalloc).  The driver call can be slow, so other    *)
(* threads may use and change the allocator meanwhile.  A malloc that the  *)
(* cache cannot serve is then several actions:                             *)
(*                                                                         *)
(*   MallocSearch   the cache is searched, the limit is tested             *)
(*   DriverMalloc   the driver grants a segment, or refuses                *)
(*   MallocResume   the segment is registered; or memory is released, and  *)
(*                  the limit tested, for the next attempt                 *)
(*                                                                         *)
(* Two mallocs that both find nothing may each get a segment, and may pass *)
(* the limit together, since neither sees the other's segment before it is *)
(* registered.  This is the specified behaviour and not a mistake in it.   *)
(*                                                                         *)
(*   calls   the mallocs in progress: set of [thread, stream, bytes,       *)
(*           attempt, asked, granted], where granted is what the driver    *)
(*           granted and is not registered: none or one [addr, size]       *)
(***************************************************************************)
EXTENDS Invariants

VARIABLE calls

C == INSTANCE CachingAllocator
Owed == INSTANCE Served

twoStepVars == <<heapVars, programVars, calls>>

\* From one release of the lock to the next.  The result has the attempt for
\* which the driver is to be called now, or 0 if the malloc has ended.
RECURSIVE Attempt(_, _, _), MakeRoom(_, _, _)

Attempt(h, p, n) ==
    IF WithinLimit(h, p) THEN [heap |-> h, returned |-> {}, attempt |-> n] ELSE MakeRoom(h, p, n)

\* The first time oversize blocks are released, the second time everything; the
\* third time the malloc fails.
MakeRoom(h, p, n) ==
    LET available == ReleaseAvailableCachedBlocks(h, p) IN
    CASE n = 1 /\ available.enough  -> Attempt(available.heap, p, 2)
      [] n = 1 /\ ~available.enough -> Attempt(ReleaseCachedBlocks(available.heap), p, 3)
      [] n = 2 -> Attempt(ReleaseCachedBlocks(h), p, 3)
      [] OTHER -> [heap |-> h, returned |-> {}, attempt |-> 0]

Finished(result) == [heap |-> result.heap, returned |-> result.returned, attempt |-> 0]

\* What an action of a malloc leads to.
Proceed(thread, stream, bytes, result) ==
    /\ Become(result.heap)
    /\ given' = Given(result, stream, 0, bytes)
    /\ UNCHANGED touched
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
                  IF found # {} THEN Finished(ReturnBlock(now, p, First(found))) ELSE Attempt(now, p, 1))

\* The driver call.  The lock is not held.
DriverMalloc(thread) ==
    \E c \in calls :
        LET p == AllocParams(c.stream, c.bytes, 0)
            range == IF HasMemory(Heap, p) THEN {SegmentFor(Heap, p)} ELSE {}
        IN /\ c.thread = thread /\ ~c.asked
           /\ device' = device \cup range
           /\ calls' = (calls \ {c}) \cup {[c EXCEPT !.asked = TRUE, !.granted = range]}
           /\ UNCHANGED <<work, illegal, segments, blocks, cached, events, stats, captures, programVars>>

MallocResume(thread) ==
    \E c \in calls :
        LET p == AllocParams(c.stream, c.bytes, 0)
            range == CHOOSE x \in c.granted : TRUE
            adopted == AdoptSegment(Heap, p, range)
        IN /\ c.thread = thread /\ c.asked
           /\ Proceed(thread, c.stream, c.bytes,
                      IF c.granted = {}
                      THEN MakeRoom(Heap, p, c.attempt)
                      ELSE Finished(ReturnBlock(adopted, p, BlockAt(adopted, range.addr))))

(***************************************************************************)
(* Everything else is as in CachingAllocator.                              *)
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
WorkIsAwaited == C!WorkIsAwaited

\* What the driver granted and is not registered counts as well.
NothingIsLostOnTheWay ==
    stats.reserved + SumOfSizes(UNION {c.granted : c \in calls}) = SumOfSizes(device)

\* Before the last attempt of a malloc all is returned that the program does not hold, and that no
\* other malloc has obtained.  There is a last attempt, unless the limit forbids it.
AllIsReturnedAtLast ==
    [][\A t \in Threads, n \in Sizes :
          LET now == {d \in calls' : d.thread = t}
              pending == UNION {d.granted : d \in calls'}
              ends == \/ \E s \in Streams : MallocSearch(t, s, n)
                      \/ MallocResume(t) /\ \E c \in calls : c.thread = t /\ c.bytes = n /\ c.attempt < 3
          IN given' = given /\ (\A d \in now : d.attempt = 3) /\ ends =>
                 /\ device' = Owed!Kept({})' \cup pending
                 /\ now = {} => SumOfSizes(device' \ pending) + Owed!SegmentNeeded(n) > Limit]_twoStepVars

\* The driver's call of a malloc obtains the segment that the request needs, if there is memory for it.
\* What it has obtained serves the request.
DriverServes ==
    [][\A c \in calls :
          LET need == Owed!SegmentNeeded(c.bytes)
              hasRoom == SumOfSizes(device) + need <= Memory
          IN /\ DriverMalloc(c.thread) => SumOfSizes(device') = SumOfSizes(device) + IF hasRoom THEN need ELSE 0
             /\ MallocResume(c.thread) /\ c.granted # {} => Cardinality(given') = Cardinality(given) + 1]_twoStepVars

\* It serves the request, and not other memory.
GrantIsUsed ==
    [][\A c \in calls : MallocResume(c.thread) /\ c.granted # {} =>
          \A x \in given' \ given : \E y \in c.granted : x.addr = y.addr]_twoStepVars

\* FAILS.  Two mallocs pass the limit together.
LimitHolds == stats.reserved <= Limit

\* Every malloc ends, if the driver returns and the thread continues.
Fairness == \A t \in Threads : WF_twoStepVars(DriverMalloc(t)) /\ WF_twoStepVars(MallocResume(t))

FairSpec == Spec /\ Fairness

MallocsEnd == \A t \in Threads : (\E c \in calls : c.thread = t) ~> ~(\E c \in calls : c.thread = t)
=============================================================================
