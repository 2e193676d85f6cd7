/* JSON of requests as TensorFlow Serving reads and writes it: a tree, with RapidJSON's words for what is wrong. Not a
 * public header. */
#ifndef HR_SERVE_JSON_H
#define HR_SERVE_JSON_H

#include "serve/internal.h"

enum { HR__DOC_LEVELS = 254 }; /* TensorFlow's highest rank */

typedef enum hr__doc_type {
    HR__IS_NULL,
    HR__IS_FALSE,
    HR__IS_TRUE,
    HR__IS_OBJECT,
    HR__IS_ARRAY,
    HR__IS_STRING,
    HR__IS_NUMBER,
} hr__doc_type;

typedef enum hr__doc_number { HR__IS_INT, HR__IS_UINT, HR__IS_DOUBLE } hr__doc_number;

/* A value: 24 bytes. An unsigned integer is one beyond int64. */
typedef struct hr__doc {
    uint8_t type, number;
    uint32_t count; /* of an array, of the members of an object; bytes of a string are in `size` */
    union {
        int64_t i;
        uint64_t u;
        double d;
        const char *text;
        struct hr__doc *items; /* of an object: name, value, name, value, ... */
    } is;
    size_t size;
} hr__doc;

typedef struct hr__doc_options {
    bool lenient;           /* what follows the first value is ignored, and so are names that come again */
    hr__pool_memory *items; /* where the values of lists and objects lie; NULL: in the memory, with all else */
} hr__doc_options;

/* Reads a text. Strings without escapes are borrowed from it, all else lies in the memory. */
hr_status hr__doc_parse(hr_view text, const hr__doc_options *options, hr__pool_memory *memory, hr__doc *out,
                        hr__fault *fault);
/* The first member of that name; NULL: there is none, or it is no object. */
const hr__doc *hr__doc_member(const hr__doc *object, const char *name);
const hr__doc *hr__doc_member_view(const hr__doc *object, hr_view name);
const char *hr__doc_type_name(const hr__doc *value); /* "Number" */
/* Adds it over several lines, as errors show values, up to 64 KiB of it. */
void hr__doc_print(const hr__doc *value, hr__text *to);
void hr__doc_quote(hr_view text, hr__text *to); /* a string as RapidJSON writes it, bytes that are no UTF-8 raw */
/* {"b64": "..."}: an object of that one member, a string. */
bool hr__doc_is_base64(const hr__doc *value);
/* Decodes the standard alphabet; white space is skipped, padding may be left out. False: it is none. */
bool hr__doc_base64(hr_view text, hr__pool_memory *memory, hr_view *bytes);
void hr__doc_add_base64_bytes(hr_view bytes, hr__text *to);

/* A number's text: %g if that reads back as the same, else nine (17) digits; with a point or an exponent. */
void hr__doc_add_float(float value, hr__text *to);
void hr__doc_add_double(double value, hr__text *to);
void hr__doc_add_int(int64_t value, hr__text *to);

/* A number at p, as JSON spells it: gives its end, or NULL with the error's words and place. */
const char *hr__doc_number_at(const char *p, const char *end, hr__doc *out, const char **words, const char **place);

/* ---- requests ---- */

/* What a body says: reads it as far as the model need not be known. Of a predict, `data` waits for the signature. The
 * values lie in `items`, which is freed (hr__memory_free), also after a failure, as soon as inputs or examples are made:
 * they take several times as much. */
typedef struct hr__doc_request {
    hr__doc root;
    hr__pool_memory items;
    hr_view signature; /* "" if it is not given */
} hr__doc_request;

hr_status hr__doc_request_read(hr_view body, bool tf_compat, hr__pool_memory *memory, hr__doc_request *out,
                               hr__fault *fault);
/* The call's inputs from `instances` or `inputs`; *rows: which of the two. */
hr_status hr__doc_predict_inputs(const hr__doc_request *request, bool tf_compat, hr__call *call, bool *rows);
/* The call's examples. `strict` before the model is known: checks alone what needs no model. */
hr_status hr__doc_examples(const hr__doc_request *request, bool tf_compat, hr__call *call);

/* ---- answers ---- */

hr_status hr__doc_predictions(hr__call *call, bool rows, bool tf_compat, hr__text *to);
void hr__doc_classes(const hr__classes *classes, bool tf_compat, hr__text *to);
void hr__doc_regressions(const float *values, int64_t count, hr__text *to);
void hr__doc_error(const char *text, size_t size, hr__text *to);

#endif
