/* The table of compiled kernels, written by library_build.py. */

#include <stdint.h>

typedef struct {
    const char *name;      /* module.function */
    const char *arguments; /* what it takes (see binding.c) */
    const char *result;
    int32_t (*call)(const int64_t *arguments, int64_t *result, void **raised);
} Entry;

typedef struct {
    const char *name; /* of the processor */
    int (*fits)(void);
    const Entry *entries; /* by name */
    int size;
} Variant;

extern const Variant variants[];
extern const int variants_size;
extern const char sources[]; /* the digest of every source that went in, as JSON */
