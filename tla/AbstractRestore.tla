-------------------------- MODULE AbstractRestore ---------------------------
(***************************************************************************)
(* One more action for AbstractMemory, for Checkpoint.tla.  Next of this   *)
(* module does not have it: MCCheckpointRefinement.tla combines the two.   *)
(*                                                                         *)
(* When a program restores a checkpoint, some of its allocations disappear *)
(* in one step, and others appear.  The memory of a new allocation is in   *)
(* no other allocation, it belongs to the allocation's stream, and no      *)
(* other stream has recorded work pending on it.  It need not be           *)
(* consecutive.  A restore is refused while a stream that was recorded     *)
(* outside of captures uses memory that would be lost.  So no entry is     *)
(* appended to a queue.                                                    *)
(*                                                                         *)
(* Restore does not say what was saved.  Every malloc, every free of an    *)
(* allocation without users, and every step that changes no allocation     *)
(* satisfies it too.  So a refinement may use it only for the steps that   *)
(* are restores.  Beside these conditions allocations' can be anything:    *)
(* TLC cannot enumerate such steps, it can test given ones.                *)
(***************************************************************************)
EXTENDS AbstractMemory

Restore ==
    \E w \in AfterSomeTime(work) :
        /\ allocations' \subseteq Allocation
        /\ \A x \in allocations \ allocations' : x.users = {}
        /\ \A x \in allocations' \ allocations :
              /\ x.users = {}
              /\ MayBeTaken(x.memory, x.stream, allocations' \ {x}, w)
        /\ StepTo(allocations', w)
=============================================================================
