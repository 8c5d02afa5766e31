#include <ort_declarations.h>
