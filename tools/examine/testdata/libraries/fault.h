// A fault that a test has planted: FAULT in the environment names it.
#pragma once
#include <cstdlib>
#include <cstring>

static bool fault(const char *name) {
	static const char *planted = std::getenv("FAULT");
	return planted != nullptr && std::strcmp(planted, name) == 0;
}
