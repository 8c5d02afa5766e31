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

\* "A malloc without pool routing on its device queries events during a capture of
\* another thread or device, which invalidates the capture."
SpecCapture == Init /\ [][Next \/ \E s \in Streams : BeginCapture(s)]_vars

(***************************************************************************)
(* "Garbage collection, the release of oversize blocks, emptying the       *)
(* cache, and other devices call cudaFree while a capture is under way     *)
(* whose mode forbids it": here, of other devices, a malloc that runs out  *)
(* of memory.                                                              *)
(***************************************************************************)
QueriesAreLegal == "query" \notin illegal
FreesAreLegal == "free" \notin illegal

=============================================================================
