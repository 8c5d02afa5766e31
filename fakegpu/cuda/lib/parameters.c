// The parameters of a kernel, as its code tells them: a cubin is an ELF file, whose section
// .nv.info.NAME has an entry for each parameter of the kernel NAME.
#include "core.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

enum { KPARAM_INFO = 0x17, WITH_SIZE = 4 };

static const Elf64_Ehdr *elf(const void *image) {
	const Elf64_Ehdr *e = image;
	return memcmp(e->e_ident, ELFMAG, SELFMAG) == 0 && e->e_ident[EI_CLASS] == ELFCLASS64 && e->e_shentsize == sizeof(Elf64_Shdr) ? e : NULL;
}

size_t gaugeblock_image_bytes(const void *image) {
	const Elf64_Ehdr *e = elf(image);
	if (e == NULL) {
		return 0;
	}
	const Elf64_Shdr *s = (const void *)((const char *)image + e->e_shoff);
	size_t end = e->e_shoff + (size_t)e->e_shnum * sizeof *s;
	for (int i = 0; i < e->e_shnum; i++) {
		if (s[i].sh_type != SHT_NOBITS && s[i].sh_offset + s[i].sh_size > end) {
			end = s[i].sh_offset + s[i].sh_size;
		}
	}
	return end;
}

// take reads the entries of a section: a format, an attribute, and 16 bits, which are the size of
// what is behind them or the value itself.
static int take(const unsigned char *at, const unsigned char *end, unsigned short sizes[MAX_PARAMETERS]) {
	int count = 0;
	while (at + 4 <= end) {
		unsigned short bytes;
		memcpy(&bytes, at + 2, 2);
		const unsigned char *value = at + 4;
		if (at[0] == WITH_SIZE && value + bytes <= end && at[1] == KPARAM_INFO && bytes == 12) {
			unsigned short ordinal;
			unsigned info; // the highest 14 bits are the size
			memcpy(&ordinal, value + 4, 2);
			memcpy(&info, value + 8, 4);
			if (ordinal < MAX_PARAMETERS) {
				sizes[ordinal] = (unsigned short)(info >> 18);
				count = ordinal >= count ? ordinal + 1 : count;
			}
		}
		at = value + (at[0] == WITH_SIZE ? bytes : 0);
	}
	return count;
}

int gaugeblock_parameters(const void *image, const char *kernel, unsigned short sizes[MAX_PARAMETERS]) {
	const Elf64_Ehdr *e = image == NULL ? NULL : elf(image);
	if (e == NULL || e->e_shstrndx >= e->e_shnum) {
		return 0;
	}
	const char *base = image;
	const Elf64_Shdr *s = (const void *)(base + e->e_shoff);
	char wanted[512];
	snprintf(wanted, sizeof wanted, ".nv.info.%s", kernel);
	for (int i = 0; i < e->e_shnum; i++) {
		if (strcmp(base + s[e->e_shstrndx].sh_offset + s[i].sh_name, wanted) == 0) {
			const unsigned char *at = (const void *)(base + s[i].sh_offset);
			return take(at, at + s[i].sh_size, sizes);
		}
	}
	return 0;
}
