-------------------------- MODULE AbstractRestore ---------------------------
(***************************************************************************)
(* An abstract memory with one more action, for Checkpoint.tla.  When a    *)
(* program restores a checkpoint, it loses in one step some of what it     *)
(* holds, and holds other memory.  The rules are those of AbstractMemory:  *)
(* the new memory has one owner, and no other stream has work on it.       *)
(* Moreover, no other stream used what the program loses.                  *)
(*                                                                         *)
(* TLC can evaluate Restore for a given step, and not enumerate such steps:*)
(* owned' is whatever the refinement has.                                  *)
(***************************************************************************)
EXTENDS AbstractMemory

Restore ==
    \E w \in AfterSomeTime :
        /\ \A x \in owned \ owned' : x.users = {}
        /\ \A x \in owned' \ owned :
              /\ x.users = {}
              /\ \A y \in owned' : x = y \/ x.memory \cap y.memory = {}
              /\ \A s \in Streams \ {x.stream} : Pending(w, s) \cap x.memory = {}
        /\ Become(owned', w)

RestoresAreSafe == [][Next \/ Restore]_abstractVars

RestoreSpec == Init /\ RestoresAreSafe
=============================================================================
