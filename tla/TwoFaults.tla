----------------------------- MODULE TwoFaults ------------------------------
(***************************************************************************)
(* Two driver calls that fail in one operation.  Mostly an operation ends  *)
(* with the first call that fails (DriverCalls.tla), and makes no second.  *)
(* A malloc goes on if the driver has no memory.  Then a later call can    *)
(* fail as well (RefusedFailedMalloc), or the driver has no memory at the  *)
(* next attempt either (RefusedTwiceMalloc).                               *)
(*                                                                         *)
(* A malloc that releases the lock makes these calls in several actions:   *)
(* TwoStepFaults.tla has them, one by one.  docs/verification.md lists     *)
(* what else the allocator calls after a call has failed: to undo what     *)
(* counts as one call here.                                                *)
(***************************************************************************)
EXTENDS PoolFaults

\* Whether a malloc asks the driver for memory.
AsksDriver(h, p) == GetFreeBlock(h, p) = {} /\ WithinLimit(h, p)

\* The driver has no memory at the first attempt, and the nth call after that fails.
RefusedFailedMalloc(stream, bytes, n) ==
    LET p   == Params(stream, bytes)
        now == Reclaim(PoolHeap)
    IN /\ AsksDriver(now, p)
       /\ FailedCall(ObtainCalls(RefusedBlock(now, p), p), n)
       /\ UNCHANGED programVars

\* The driver has no memory at two attempts, the first and the next.  If oversize blocks are
\* released for the second, there is a third.
RefusedTwiceMalloc(stream, bytes) ==
    LET p         == Params(stream, bytes)
        now       == Reclaim(PoolHeap)
        first     == RefusedBlock(now, p).heap
        available == ReleaseAvailableOfDefault(first, p)
        retries   == available.enough /\ WithinLimit(available.heap, p)
        released  == ReleaseCachedBlocksAndPools(available.heap)
        result    == IF retries THEN RetryOrFail(available.heap, p)
                     ELSE FailOutOfMemory(RefusedBlock(released, p).heap)
    IN /\ AsksDriver(now, p)
       /\ TakeFromOverflowPool(first, p) = {}
       /\ IF retries THEN TRUE ELSE ~CapturesUnderway(first) /\ WithinLimit(released, p)
       /\ BecomeWithPools(result.heap)
       /\ given' = Given(result, stream, RoutedTo(stream), bytes)
       /\ UNCHANGED touched

NextOrTwoFaults ==
    \/ NextOrFault
    \/ \E s \in Streams, n \in Sizes, i \in 1..MaxDriverCalls : RefusedFailedMalloc(s, n, i)
    \/ \E s \in Streams, n \in Sizes : RefusedTwiceMalloc(s, n)

TwoFaultSpec == Init /\ [][NextOrTwoFaults]_vars
=============================================================================
