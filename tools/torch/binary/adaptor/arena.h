// The heap of PyTorch's libraries, so that it can be put back as a whole.
#ifndef GAUGEBLOCK_ARENA_H
#define GAUGEBLOCK_ARENA_H

#ifdef __cplusplus
extern "C" {
#endif

// Where the arena is. Whoever loads it has these addresses mapped, and says so with
// gaugeblock_arena_begin before anything else. The sanitizer of addresses has its own memory there, and needs
// another place (docs/lab/sanitizers.md).
#ifndef GAUGEBLOCK_ARENA_PLACE
#define GAUGEBLOCK_ARENA_PLACE 0x10000000000ull
#endif
#define GAUGEBLOCK_ARENA_BYTES (8ull << 30) // of addresses; memory is taken as it is used
void gaugeblock_arena_begin(void);

// Between enter and leave what the calling thread makes with operator new is in the arena;
// otherwise it is malloc's. They nest.
void gaugeblock_arena_enter(void);
void gaugeblock_arena_leave(void);
// From suspend to resume it is malloc's although the thread has entered.
void gaugeblock_arena_suspend(void);
void gaugeblock_arena_resume(void);
// gaugeblock_arena_mark saves what is in the arena; gaugeblock_arena_reset puts it back.
void gaugeblock_arena_mark(void);
void gaugeblock_arena_reset(void);
// gaugeblock_arena_has reports whether an address is in the arena.
int gaugeblock_arena_has(const void *p);

#ifdef __cplusplus
}
#endif
#endif
