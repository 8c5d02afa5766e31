----------------------------- MODULE TraceCore ------------------------------
(***************************************************************************)
(* Is a recorded run a behaviour of the allocator?  Every line of it must  *)
(* be a step that the specification allows, with the result that was       *)
(* recorded.  Completed work of the device is recorded as well (Complete), *)
(* so there is only one way to follow a run.                               *)
(***************************************************************************)
EXTENDS CachingAllocator, TraceData

Trace == Recorded

VARIABLE line  \* that comes next

\* What a malloc returned, or -1.
ResultOf(before, after) ==
    IF after = before THEN -1 ELSE (CHOOSE x \in after \ before : TRUE).addr

Follow(e) ==
    /\ CASE e.action = "Malloc"       -> Malloc(e.args[1], e.args[2]) /\ ResultOf(given, given') = e.result
         [] e.action = "Free"         -> Free(e.args[1])
         [] e.action = "RecordStream" -> RecordStream(e.args[1], e.args[2])
         [] e.action = "Complete"     -> Complete(e.args[1])
         [] e.action = "EmptyCache"   -> EmptyCache
    /\ stats'.reserved = e.reserved

TraceInit == Init /\ line = 1

TraceNext ==
    /\ line <= Len(Trace)
    /\ Follow(Trace[line])
    /\ line' = line + 1

TraceSpec == TraceInit /\ [][TraceNext]_<<vars, line>>

\* The last state of a counterexample is where the run leaves the specification.
TraceIsBehaviour == line <= Len(Trace) => ENABLED Follow(Trace[line])
=============================================================================
