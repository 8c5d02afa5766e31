--------------------------- MODULE UpstreamCapture --------------------------
(***************************************************************************)
(* A stream is captured, and no requests are routed to a pool for it: the  *)
(* capture is another thread's or another device's.                        *)
(***************************************************************************)
EXTENDS CachingAllocator

BeginCapture(stream) ==
    /\ captures = <<>>
    /\ captures' = <<[pool |-> 0, stream |-> stream]>>
    /\ UNCHANGED <<device, work, illegal, segments, blocks, cached, events, stats, programVars>>

\* captures/events-queried
SpecCapture == Init /\ [][Next \/ \E s \in Streams : BeginCapture(s)]_vars

(***************************************************************************)
(* captures/memory-freed: here, of other devices, a malloc that runs out   *)
(* of memory.                                                              *)
(***************************************************************************)
QueriesAreLegal == "query" \notin illegal
FreesAreLegal == "free" \notin illegal

=============================================================================
