------------------------- MODULE GarbageCollection --------------------------
(***************************************************************************)
(* Garbage collection.  Where a malloc finds no free block, and more is    *)
(* reserved than a fraction of the limit, old segments are returned before *)
(* the driver is asked.  A free block is as old as the malloc searches of  *)
(* its kind since it came to the free list.  In each round every whole     *)
(* large segment goes that is at least as old as the average of them, until*)
(* no more is reserved than the fraction, or none is left.                 *)
(*                                                                         *)
(* Ages grow without end, so programs call malloc only while no free block *)
(* is older than MaxAge.  Without a limit nothing is collected, and nothing*)
(* is older than another.                                                  *)
(***************************************************************************)
EXTENDS Invariants

VARIABLE ages   \* of the free blocks: set of [addr, of, size, age], with the address of the segment

C == INSTANCE CachingAllocator
Owed == INSTANCE Served

garbageVars == <<heapVars, programVars, ages>>

\* The ages of the free blocks of a heap, if those of some are known: the others came to the free
\* list just now.  A segment that is returned and granted again is never free as it was.
AgesIn(h, known) ==
    LET of(b) == SegmentOf(h, b).addr
        before(b) == {a \in known : a.addr = b.addr /\ a.size = b.size /\ a.of = of(b)}
    IN UNION {IF before(b) # {} THEN before(b) ELSE {[addr |-> b.addr, of |-> of(b), size |-> b.size, age |-> 0]} :
                 b \in {c \in h.blocks : c.addr \in h.cached}}

\* A search makes the free blocks of a kind older.
Searched(h, known, kind) ==
    {IF Limit <= Memory /\ SegmentOf(h, BlockAt(h, a.addr)).kind = kind THEN [a EXCEPT !.age = @ + 1] ELSE a : a \in known}

RECURSIVE SumOfAges(_)
SumOfAges(all) == IF all = {} THEN 0 ELSE LET a == CHOOSE a \in all : TRUE IN a.age + SumOfAges(all \ {a})

\* What may be reserved before garbage is collected.  Without a limit it is all.
Threshold == IF Limit > Memory THEN Memory ELSE (GarbageCollectionThreshold * Limit) \div 100

\* The blocks that are whole large segments, and those of them that are at least of average age.
LargeSegments(h) == {b \in Releasable(h, 0) : SegmentOf(h, b).kind = "large"}
AgesOf(bs, known) == {a \in known : \E b \in bs : b.addr = a.addr}
AtLeastAverage(bs, known) ==
    LET all == AgesOf(bs, known)
    IN {b \in bs : \E a \in all : a.addr = b.addr /\ a.age * Cardinality(all) >= SumOfAges(all)}

RECURSIVE CollectGarbage(_, _)
CollectGarbage(h, known) ==
    LET all == LargeSegments(h)
    IN IF h.stats.reserved <= Threshold \/ all = {} THEN h
       ELSE CollectGarbage(ReleaseSegments(h, AtLeastAverage(all, known)), known)

Malloc(stream, bytes) ==
    LET p == AllocParams(stream, bytes, 0)
        now == ProcessEvents(Heap)
        known == Searched(now, AgesIn(now, ages), p.kind)
        found == GetFreeBlock(now, p)
        result == IF found # {} THEN ReturnBlock(now, p, First(found)) ELSE C!ObtainBlock(CollectGarbage(now, known), p)
    IN /\ \A a \in ages : a.age < MaxAge
       /\ Become(result.heap)
       /\ ages' = AgesIn(result.heap, known)
       /\ given' = Given(result, stream, 0, bytes)
       /\ UNCHANGED touched

(***************************************************************************)
(* Everything else is as in CachingAllocator.                              *)
(***************************************************************************)
Free(addr) == C!Free(addr) /\ ages' = AgesIn(Heap', ages)
RecordStream(addr, stream) == C!RecordStream(addr, stream) /\ UNCHANGED ages
Complete(stream) == C!Complete(stream) /\ UNCHANGED ages
EmptyCache == C!EmptyCache /\ ages' = AgesIn(Heap', ages)

Init == InitHeap /\ ages = {}

Next ==
    \/ \E s \in Streams, n \in Sizes : Malloc(s, n)
    \/ \E a \in Addresses : Free(a)
    \/ \E a \in Addresses, s \in Streams : RecordStream(a, s)
    \/ \E s \in Streams : Complete(s)
    \/ EmptyCache

Spec == Init /\ [][Next]_garbageVars

HeldBlocksAreAwaited == C!HeldBlocksAreAwaited
WorkIsAwaited == C!WorkIsAwaited

(***************************************************************************)
(* What a program is owed.                                                 *)
(***************************************************************************)

\* A free block is a whole large segment.
IsWholeLarge(b, gs) == ~b.allocated /\ b.eventCount = 0 /\ b.uses = {} /\ \E g \in gs : g.kind = "large" /\ g.addr = b.addr /\ g.size = b.size

\* A malloc obtains memory beyond the fraction only if no large segment is free.
GarbageIsCollected ==
    [][\A s \in Streams, n \in Sizes :
          Malloc(s, n) /\ Owed!Obtained # {} /\ SumOfSizes(device' \ Owed!Obtained) > Threshold =>
              \A b \in blocks' : ~IsWholeLarge(b, segments')]_garbageVars

\* Only a malloc beyond the fraction returns memory, of large segments, or one that can be served no other
\* way, beside EmptyCache.
NoNeedlessCollection ==
    [][Owed!Returned # {} =>
          \/ EmptyCache
          \/ \E s \in Streams, n \in Sizes :
                /\ Malloc(s, n)
                /\ ~Owed!Cached(0, s, n)
                /\ \/ SumOfSizes(device) > Threshold /\ \A y \in Owed!Returned, g \in segments : Inside(y, g) => g.kind = "large"
                   \/ ~Owed!HasRoom(n)]_garbageVars

\* What stays was freed later than what goes, unless all goes that can: of whole large segments, with
\* the same work.  Searches since the free say when it was freed.
OldestAreCollected ==
    [][\A s \in Streams, n \in Sizes :
          LET gone == {a \in ages : \E y \in Owed!Returned : y.addr = a.of /\ y.size = a.size}
              stay == {a \in ages : \E b \in blocks' : b.addr = a.addr /\ b.size = a.size /\ IsWholeLarge(b, segments')}
          IN Malloc(s, n) /\ Owed!Obtained # {} => \A a \in gone, b \in stay : b.age < a.age]_garbageVars

\* What is younger than the average of the free large segments goes only if what is not was not enough.
YoungAreKept ==
    [][\A s \in Streams, n \in Sizes :
          LET whole == {a \in ages : \E b \in blocks : b.addr = a.addr /\ IsWholeLarge(b, segments)}
              old   == {y \in device : \E a \in whole : a.of = y.addr /\ a.age * Cardinality(whole) >= SumOfAges(whole)}
              left  == SumOfSizes(device \ old)
          IN Malloc(s, n) /\ Owed!Waiting = {} /\ left <= Threshold /\ left + Owed!SegmentNeeded(n) <= Owed!Room =>
                 Owed!Returned \subseteq old]_garbageVars

\* The age of a free block is the number of searches of its kind since it was freed.
AgesCountSearches ==
    [][\A a \in ages' :
          LET before == {b.age : b \in {c \in ages : c.addr = a.addr /\ c.size = a.size /\ c.of = a.of}}
              kind   == (CHOOSE g \in segments' : g.addr = a.of).kind
              more   == IF \E s \in Streams, n \in Sizes : Limit <= Memory /\ Malloc(s, n) /\ Owed!KindFor(n) = kind THEN 1 ELSE 0
          IN IF before # {} THEN \A age \in before : a.age = age + more
             ELSE a.age <= IF Owed!Waiting = {} THEN 0 ELSE more]_garbageVars
=============================================================================
