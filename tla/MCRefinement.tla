---------------------------- MODULE MCRefinement ----------------------------
(***************************************************************************)
(* The core refines the abstract memory at small bounds.  Not so with the  *)
(* mutants ReleasesParts and FreeUnlessAllocated of MCCore.tla, and with   *)
(* FindsOtherStreams, ForgetsUse and DoesNotRound.  RoundsDown and         *)
(* FindsAllocated break MallocsServe.                                      *)
(***************************************************************************)
EXTENDS MCCore, Refinement

\* What a malloc returns is new, and enough.  Of the allocator's sizes only the rounding counts:
\* what a program may use is the rounded request.
MallocsServe ==
    [][\A s \in Streams, n \in Sizes :
          Malloc(s, n) => Serves(MallocResult(Heap, s, n).returned, s, n)]_vars

\* All that the segments of MCExpandableRefinement.cfg need.
EnoughAddresses == 0..7

\* A malloc that fails may change nothing, and is no step then.
FailuresAreReal ==
    \A s \in Streams, n \in Sizes : MallocResult(Heap, s, n).returned = {} => Abstract!CannotServe(s, n)

\* MallocsServe: a request is rounded down.
RoundsDown(n) == Max(MinBlock, (n \div MinBlock) * MinBlock)

\* A request is not rounded, so that what is split off begins at any byte.
DoesNotRound(n) == n

\* MallocsServe: best fit finds allocated blocks too.
FindsAllocated(h, pool, kind, stream) ==
    {b \in h.blocks : /\ b.addr \in h.cached \/ b.allocated
                      /\ LET g == SegmentOf(h, b)
                         IN g.stream = stream /\ g.pool = pool /\ g.kind = kind}

\* Best fit finds the blocks of all streams.
FindsOtherStreams(h, pool, kind, stream) ==
    {b \in h.blocks : /\ b.addr \in h.cached
                      /\ LET g == SegmentOf(h, b) IN g.pool = pool /\ g.kind = kind}

\* The program uses a block on another stream, and the allocator forgets it.
ForgetsUse(addr, stream) ==
    /\ \E x \in given : x.addr = addr /\ x.stream # stream
    /\ Touch(addr, stream)
    /\ UNCHANGED <<heapVars, given>>
=============================================================================
