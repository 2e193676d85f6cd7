/* What every golden test shares: the cases of a topic, tensors from their JSON, one comparing function.
 *
 * The topic's folder is GOLDEN_ROOT/TOPIC, unpacked by the build; HEADRACE_GOLDEN names another folder that holds
 * TOPIC/cases.json or TOPIC.tar.gz: then the cases are those. A program is one function over a case and
 *
 *     int main(void) { return golden_main("csv", GOLDEN_ROOT, run_case); }
 *
 * which prints "csv: N of M cases agree" and names each case that does not. A case with a field that nobody asked for
 * does not agree: what a reader passes over would be tested by nobody. */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <cjson/cJSON.h>
#include <headrace/base.h>

typedef enum golden_result {
    GOLDEN_AGREES,
    GOLDEN_DIFFERS,   /* `why` says in what */
    GOLDEN_NOT_BUILT, /* the case needs what does not exist yet; `why` names it. Reported and counted apart */
} golden_result;

typedef struct golden_case {
    const cJSON *json;
    const char *name;
    const char *folder; /* of the topic: file names in the case are relative to it */
    const char *mode;   /* the one that the case is in: "default" or "tf_compat"; NULL: said in `why`, or no matter */
    char why[1024];
} golden_case;

typedef golden_result golden_fn(golden_case *c);

/* Exit code 0 if no case differs and none is `not built`; 0 as well if the only shortfall is `not built` and
 * HEADRACE_GOLDEN_STRICT is not set; 1 otherwise; 77 when the folder of HEADRACE_GOLDEN lacks the topic (it says
 * so). */
int golden_main(const char *topic, const char *root, golden_fn *fn);

/* DIFFERS with a printf-like reason. */
golden_result golden_differs(golden_case *c, const char *format, ...) HR_PRINTF(2, 3);
golden_result golden_not_built(golden_case *c, const char *format, ...) HR_PRINTF(2, 3);

/* ---- fields of a case; a missing one gives the fallback. Who gets a field has asked for it, not for the fields of
 * what is in it. The name, and notes for people, nobody has to ask for ---- */

const cJSON *golden_get(const cJSON *object, const char *key); /* NULL if there is none, or `object` is NULL */
/* Asks for every field of an object whose names say something, such as one for each variable: goes through them.
 * Gives `object`. */
const cJSON *golden_fields(const cJSON *object);
/* Asks for all that is in there, at any depth: the reader compares it as a whole, or knows that another field says the
 * same. NULL: nothing. */
const cJSON *golden_whole(const cJSON *json);
const char *golden_text(const cJSON *object, const char *key, const char *fallback);
int64_t golden_int(const cJSON *object, const char *key, int64_t fallback);
bool golden_bool(const cJSON *object, const char *key, bool fallback);
int64_t golden_number_int64(const cJSON *number); /* a number, or a decimal string */
uint64_t golden_number_uint64(const cJSON *number);
double golden_number_double(const cJSON *number); /* "nan", "inf", "-inf" as well */

/* Bytes of a hex string: gives data (free); size -1 if it is none. */
hr_view golden_hex(const cJSON *text);
/* A whole file of the topic's folder: gives data (free), or size -1. */
hr_view golden_file(const golden_case *c, const char *name);

/* ---- tensors ---- */

/* A tensor from its JSON (dense, sparse, ragged; strings by hex or values). Gives its buffers: golden_tensor_clear.
 * False: not a tensor. */
bool golden_tensor(const cJSON *json, hr_tensor *out);
void golden_tensor_clear(hr_tensor *tensor);
/* Equal in dtype, shape and values; floats bit for bit (NaN equals NaN) unless rtol or atol is above 0. Otherwise says
 * why. */
bool golden_equal(golden_case *c, const char *what, const hr_tensor *expected, const hr_tensor *got, double rtol,
                  double atol);
/* The same with the expected one from JSON, and the case's own `tolerance`. */
bool golden_equal_json(golden_case *c, const char *what, const cJSON *expected, const hr_tensor *got);

/* "InvalidArgument" of an `error` object; NULL if the case expects none. mode_compat: see the convention of
 * `default`. */
const char *golden_error_class(const cJSON *expectation);
/* What this mode must answer, by the convention in README.md: headrace_expect, or default's (in the default mode), or
 * the case itself. The object has `expect`, `error` or (out of `default`) `report`; fields that are missing there are
 * the case's. */
const cJSON *golden_expectation(const cJSON *json, bool tf_compat);

#endif
