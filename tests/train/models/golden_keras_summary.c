/* Summaries: the text of the table of a model's layers, line by line. */
#include "golden_keras.h"

#include <stdlib.h>
#include <string.h>

static golden_result compare_lines(golden_case *c, const char *text, const cJSON *lines)
{
    const cJSON *line;
    int i = 0;
    cJSON_ArrayForEach(line, lines)
    {
        const char *end = strchr(text, '\n');
        if (!end) return golden_differs(c, "line %d is missing", i);
        const size_t n = (size_t)(end - text);
        if (n != strlen(line->valuestring) || memcmp(text, line->valuestring, n) != 0)
            return golden_differs(c, "line %d is \"%.*s\"", i, (int)n, text);
        text = end + 1;
        i++;
    }
    return *text ? golden_differs(c, "after %d lines there is \"%.80s\"", i, text) : GOLDEN_AGREES;
}

static golden_result compare_summary(golden_case *c, hr_model *m)
{
    const cJSON *o = golden_get(c->json, "summary"), *expect = golden_get(c->json, "expect"), *item;
    int64_t params = 0;
    cJSON_ArrayForEach(item, golden_get(c->json, "frozen")) hr_layer_freeze(hr_get_layer(m, item->valuestring), true);
    char *text = hr_model_summary(m, .show_trainable = golden_bool(o, "show_trainable", false),
                                  .expand_nested = golden_bool(o, "expand_nested", false),
                                  .line_length = golden_int(o, "line_length", 0));
    if (!text) return golden_differs(c, "%.600s", hr_model_error(m) ? hr_model_error(m)->text : "no text");
    const golden_result result = compare_lines(c, text, golden_get(expect, "summary"));
    hr_free(text);
    for (int i = 0; i < hr_model_weights(m); i++) params += hr_shape_count(hr_model_weight(m, i).shape);
    if (result == GOLDEN_AGREES && params != golden_int(expect, "params", -1))
        return golden_differs(c, "%lld params", (long long)params);
    return result;
}

golden_result keras_summary(golden_case *c)
{
    hr_model *m = keras_model(c, golden_get(c->json, "model"));
    if (!m) return strstr(c->why, "layer ") ? GOLDEN_NOT_BUILT : GOLDEN_DIFFERS;
    const golden_result result = compare_summary(c, m);
    hr_model_free(m);
    return result;
}
