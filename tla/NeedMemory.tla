----------------------------- MODULE NeedMemory -----------------------------
(***************************************************************************)
(* Need-memory callbacks.  Where a malloc finds no free block the          *)
(* program's callbacks are called, before anything is collected, returned  *)
(* or obtained.  The lock is released meanwhile, so that they can free     *)
(* memory.  If one says that it did, the cache is searched again; events   *)
(* are not queried again.                                                  *)
(*                                                                         *)
(* A callback does what programs do: it frees memory, records streams and  *)
(* empties the cache.  It calls no malloc.                                 *)
(***************************************************************************)
EXTENDS Invariants

VARIABLE asking   \* the malloc of which the callbacks run: set of none or one [stream, bytes]

C == INSTANCE CachingAllocator
Owed == INSTANCE Served

needVars == <<heapVars, programVars, asking>>

\* Either a free block serves the malloc, or the callbacks are called.
MallocSearch(stream, bytes) ==
    LET p == AllocParams(stream, bytes, 0)
        now == ProcessEvents(Heap)
        found == GetFreeBlock(now, p)
        result == IF found # {} THEN ReturnBlock(now, p, First(found)) ELSE [heap |-> now, returned |-> {}]
    IN /\ asking = {}
       /\ Become(result.heap)
       /\ given' = Given(result, stream, 0, bytes)
       /\ asking' = IF found # {} THEN {} ELSE {[stream |-> stream, bytes |-> bytes]}
       /\ UNCHANGED touched

\* The callbacks return.  1 is the answer of one that has freed memory.
CallbacksReturn(freed) ==
    \E c \in asking :
        LET p == AllocParams(c.stream, c.bytes, 0)
            found == IF freed = 1 THEN GetFreeBlock(Heap, p) ELSE {}
            result == IF found # {} THEN ReturnBlock(Heap, p, First(found)) ELSE C!ObtainBlock(Heap, p)
        IN /\ Become(result.heap)
           /\ given' = Given(result, c.stream, 0, c.bytes)
           /\ asking' = {}
           /\ UNCHANGED touched

(***************************************************************************)
(* Everything else is as in CachingAllocator.                              *)
(***************************************************************************)
Free(addr) == C!Free(addr) /\ UNCHANGED asking
RecordStream(addr, stream) == C!RecordStream(addr, stream) /\ UNCHANGED asking
Complete(stream) == C!Complete(stream) /\ UNCHANGED asking
EmptyCache == C!EmptyCache /\ UNCHANGED asking

Init == InitHeap /\ asking = {}

Next ==
    \/ \E s \in Streams, n \in Sizes : MallocSearch(s, n)
    \/ \E freed \in {0, 1} : CallbacksReturn(freed)
    \/ \E a \in Addresses : Free(a)
    \/ \E a \in Addresses, s \in Streams : RecordStream(a, s)
    \/ \E s \in Streams : Complete(s)
    \/ EmptyCache

Spec == Init /\ [][Next]_needVars

HeldBlocksAreAwaited == C!HeldBlocksAreAwaited
WorkIsAwaited == C!WorkIsAwaited

(***************************************************************************)
(* What a program is owed.                                                 *)
(***************************************************************************)

\* Before the callbacks have answered a malloc neither obtains memory nor returns any, nor does it fail.
CallbacksAreAskedFirst ==
    [][\A s \in Streams, n \in Sizes :
          MallocSearch(s, n) => /\ device' = device
                                /\ Cardinality(given') + Cardinality(asking') = Cardinality(given) + 1]_needVars

\* They are not called where a free block fits.
CallbacksAreNeeded ==
    [][\A s \in Streams, n \in Sizes : MallocSearch(s, n) /\ Owed!Cached(0, s, n) => asking' = {}]_needVars

\* What they have freed serves the malloc, and nothing is obtained for it.  A malloc that fails
\* nevertheless could not have been served.
WhatIsFreedServes ==
    [][\A c \in asking :
          /\ CallbacksReturn(1) /\ Owed!Fitting(0, c.stream, c.bytes) # {} =>
                 device' = device /\ Cardinality(given') = Cardinality(given) + 1
          /\ (\E freed \in {0, 1} : CallbacksReturn(freed)) /\ given' = given =>
                 ~Owed!RoomBeside(Owed!Kept({}), c.bytes)]_needVars
=============================================================================
