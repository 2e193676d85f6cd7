/* The topic keras: whole runs of models, single steps, errors, layers alone, summaries, files of weights. */
#include "golden_keras.h"

#include <string.h>

static golden_result run_case(golden_case *c)
{
    static const char *const modes[] = {"default", "tf_compat"};
    if (golden_get(c->json, "layers")) return keras_builds(c);
    if (golden_get(golden_get(c->json, "expect"), "summary")) return keras_summary(c);
    if (golden_get(golden_get(c->json, "expect"), "checkpoint")) return keras_files(c);
    for (int i = 0; i < 2; i++) {
        c->mode = modes[i];
        const golden_result result = keras_run(c, i == 1);
        if (result != GOLDEN_AGREES) return result;
    }
    return GOLDEN_AGREES;
}

int main(void) { return golden_main("keras", GOLDEN_ROOT, run_case); }
