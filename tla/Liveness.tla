------------------------------ MODULE Liveness ------------------------------
(***************************************************************************)
(* What is freed, and whose streams have completed, becomes reusable: if   *)
(* work on the device continues to complete and the program continues to   *)
(* call malloc.                                                            *)
(*                                                                         *)
(* Both are needed.  The allocator has no thread of its own: it queries    *)
(* events only in the next malloc.                                         *)
(***************************************************************************)
EXTENDS CachingAllocator

Fairness ==
    /\ \A s \in Streams : WF_vars(Complete(s))
    /\ WF_vars(\E s \in Streams, n \in Sizes : Malloc(s, n))

FairSpec == Spec /\ Fairness

\* Freed by the program, and not yet on a free list.
Held(addr) == \E b \in blocks : b.addr = addr /\ ~b.allocated /\ addr \notin cached

FreedBecomesReusable == \A a \in Addresses : Held(a) ~> ~Held(a)

(***************************************************************************)
(* FAILS with LazySpec.  If the program does not call malloc again, what   *)
(* it freed does not become free, though all work has completed.           *)
(***************************************************************************)
LazySpec == Spec /\ \A s \in Streams : WF_vars(Complete(s))
=============================================================================
