-------------------------- MODULE AbstractRestore ---------------------------
(***************************************************************************)
(* An abstract memory with one more action, for Checkpoint.tla.  When a    *)
(* program restores a checkpoint, it loses in one step some of what it     *)
(* holds, and holds other memory.  The rules are those of AbstractMemory:  *)
(* the new memory has one owner, and no other stream has pending work on   *)
(* it.  What the program loses is not freed by it, so that no work is      *)
(* appended; therefore no other stream may have used it.                   *)
(*                                                                         *)
(* A step that loses one piece of memory that no other stream has used, or *)
(* takes one, satisfies Restore too.  So a refinement may use it only for  *)
(* the steps that are restores (MCCheckpointRefinement.tla).  Beside these *)
(* conditions owned' can be anything: TLC cannot enumerate such steps, it  *)
(* can test given ones.                                                    *)
(***************************************************************************)
EXTENDS AbstractMemory

Restore ==
    \E w \in AfterSomeTime(work) :
        /\ \A x \in owned \ owned' : x.users = {}
        /\ \A x \in owned' \ owned :
              /\ x.users = {}
              /\ \A y \in owned' : x = y \/ x.memory \cap y.memory = {}
              /\ \A s \in Streams \ {x.stream} : Pending(w, s) \cap x.memory = {}
        /\ StepTo(owned', w)
=============================================================================
