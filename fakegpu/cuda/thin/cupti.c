// PyTorch needs the library and calls nothing in it.
#include "thin.h"

API cuptiGetVersion(uint32_t *version) {
	NEEDS(version)
	*version = GAUGEBLOCK_CUDART * 10000;
	return 0;
}

API cuptiGetResultString(int status, const char **text) {
	NEEDS(text)
	*text = status == 0 ? "CUPTI_SUCCESS" : "an error of the fake GPU's CUPTI";
	return 0;
}

API cuptiActivityGetNextRecord(uint8_t *buffer, size_t bytes, void **record) {
	NEEDS(record)
	enum { NO_MORE = 12 };
	(void)buffer, (void)bytes;
	*record = NULL;
	return NO_MORE;
}

API cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped) {
	NEEDS(dropped)
	(void)context, (void)stream;
	*dropped = 0;
	return 0;
}
