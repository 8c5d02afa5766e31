-------------------------- MODULE AbstractRestore ---------------------------
(***************************************************************************)
(* One more action for AbstractMemory, for Checkpoint.tla.  Next of this   *)
(* module does not have it: MCCheckpointRefinement.tla combines the two.   *)
(*                                                                         *)
(* When a program restores a checkpoint, some of its allocations disappear *)
(* in one step, and others appear, none with a user.  Of MayBeTaken, what  *)
(* appears shares no memory with other allocations, and pending uses of it *)
(* come first; it need be neither consecutive nor aligned.  A restore is   *)
(* refused while a stream that was recorded outside of captures uses       *)
(* memory that would be lost.  So nobody has to launch a last use.         *)
(*                                                                         *)
(* Restore does not say what was saved.  Every malloc, every free of an    *)
(* allocation without users, and every step that changes no allocation     *)
(* satisfies it too.  So a refinement may use it only for the steps that   *)
(* are restores.  Beside these conditions held' can be anything: TLC       *)
(* cannot enumerate such steps, it can test given ones.                    *)
(***************************************************************************)
EXTENDS AbstractMemory

Restore ==
    LET stays == {x \in DOMAIN held \cap DOMAIN held' : held[x] = held'[x]}
        new   == DOMAIN held' \ stays
    IN /\ \A x \in DOMAIN held \ stays : held[x].users = {}
       /\ UNCHANGED graphs /\ Meanwhile(queues)
       /\ \A x \in new :
             /\ held'[x].users = {}
             /\ \A y \in DOMAIN held' \ {x} : held'[x].memory \cap held'[y].memory = {}
             /\ InOrderFor(held'[x].memory, held'[x].stream, queues')
=============================================================================
