------------------------------ MODULE MCFaults ------------------------------
(***************************************************************************)
(* Failing driver calls at small bounds, and mutants: see MCCore.tla.      *)
(***************************************************************************)
EXTENDS Faults

\* NothingIsLost: a segment is removed before the driver call that frees it.
RECURSIVE ForgetsSegments(_, _)
ForgetsSegments(h, bs) ==
    IF bs = {} THEN <<>>
    ELSE LET b == FirstReleased(h, bs)
             released == ReleaseSegments(h, {b})
         IN <<[released EXCEPT !.device = h.device]>> \o ForgetsSegments(released, bs \ {b})

\* NoReuseWhileInUse: an event whose query fails counts as completed.
RECURSIVE TakesFailureForCompletion(_, _)
TakesFailureForCompletion(h, streams) ==
    IF streams = {} THEN <<>>
    ELSE LET s == Min(streams) IN
         CASE h.events[s] = <<>> -> TakesFailureForCompletion(h, streams \ {s})
           [] h.events[s] # <<>> /\ Head(h.events[s]).behind > 0 ->
                  <<CompleteEvent(h, s)>> \o TakesFailureForCompletion(h, streams \ {s})
           [] OTHER -> <<CompleteEvent(h, s)>> \o TakesFailureForCompletion(CompleteEvent(h, s), streams)
=============================================================================
