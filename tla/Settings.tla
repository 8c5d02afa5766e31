------------------------------ MODULE Settings ------------------------------
(***************************************************************************)
(* A setting that changes at run time: max_split_size.  A free block that  *)
(* was split off while the setting was higher can be oversize now, and an  *)
(* oversize segment that serves requests of its size alone can be split    *)
(* when the setting rises.                                                 *)
(***************************************************************************)
EXTENDS Invariants

VARIABLE maxSplit   \* the present max_split_size

C == INSTANCE CachingAllocator
Owed == INSTANCE Served

settingsVars == <<heapVars, programVars, maxSplit>>

Malloc(stream, bytes) ==
    LET p == [AllocParams(stream, bytes, 0) EXCEPT !.maxSplit = maxSplit]
        result == C!ServeRequest(Heap, p)
    IN /\ Become(result.heap)
       /\ given' = Given(result, stream, 0, bytes)
       /\ UNCHANGED <<touched, maxSplit>>

Configure(size) ==
    /\ size # maxSplit
    /\ maxSplit' = size
    /\ UNCHANGED <<heapVars, programVars>>

(***************************************************************************)
(* Everything else is as in CachingAllocator.                              *)
(***************************************************************************)
Free(addr) == C!Free(addr) /\ UNCHANGED maxSplit
RecordStream(addr, stream) == C!RecordStream(addr, stream) /\ UNCHANGED maxSplit
Complete(stream) == C!Complete(stream) /\ UNCHANGED maxSplit
EmptyCache == C!EmptyCache /\ UNCHANGED maxSplit

Init == InitHeap /\ maxSplit = MaxSplitSize

Next ==
    \/ \E s \in Streams, n \in Sizes : Malloc(s, n)
    \/ \E a \in Addresses : Free(a)
    \/ \E a \in Addresses, s \in Streams : RecordStream(a, s)
    \/ \E s \in Streams : Complete(s)
    \/ EmptyCache
    \/ \E n \in MaxSplitSizes : Configure(n)

Spec == Init /\ [][Next]_settingsVars

HeldBlocksAreAwaited == C!HeldBlocksAreAwaited
WorkIsAwaited == C!WorkIsAwaited

\* The setting is what the program has set it to, and nothing else changes with it.
SettingsAreKept ==
    [][maxSplit' # maxSplit => Configure(maxSplit') /\ UNCHANGED <<device, segments, blocks>>]_settingsVars

\* What a malloc returns fits its request by the present setting.  (Of a segment that was split before, an
\* oversize request can be given a part.)
NewBlocksFitRequests ==
    [][\A x \in given' \ given : \E b \in blocks', g \in segments' :
          LET size == Owed!BlockFor(x.bytes)
              most == IF g.kind = "small" THEN MinBlock - 1
                      ELSE IF size >= maxSplit THEN MaxNonSplitRounding - 1 ELSE SmallSize
          IN b.addr = x.addr /\ Inside(b, g) /\ b.size \in size..(size + most)]_settingsVars
=============================================================================
