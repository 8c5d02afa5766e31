------------------------------ MODULE Liveness ------------------------------
(***************************************************************************)
(* What is freed, and whose streams have completed, becomes reusable: if   *)
(* the device goes on working and the program goes on asking.              *)
(*                                                                         *)
(* Both are needed.  The allocator has no thread of its own: it finds out  *)
(* about events when the next malloc asks about them.                      *)
(***************************************************************************)
EXTENDS CachingAllocator

Fairness ==
    /\ \A s \in Streams : WF_vars(Complete(s))
    /\ WF_vars(\E s \in Streams, n \in Sizes : Malloc(s, n))

FairSpec == Spec /\ Fairness

\* Freed by the program, and not yet to be had.
Held(addr) == \E b \in blocks : b.addr = addr /\ ~b.allocated /\ addr \notin cached

FreedBecomesReusable == \A a \in Addresses : Held(a) ~> ~Held(a)

(***************************************************************************)
(* FAILS with LazySpec.  If the program stops asking, nothing happens to   *)
(* what it freed, though all work has long been done.                      *)
(***************************************************************************)
LazySpec == Spec /\ \A s \in Streams : WF_vars(Complete(s))
=============================================================================
