/* Whether a trial gives the same again: in the same session, with threads in another one; with inputs that are as
 * before, and nothing written after the end of an output. */
#include "train/conformance/trial.h"

#include "conformance/allocations.h"

#include <stdlib.h>
#include <string.h>

/* ---- results as hashes ---- */

static uint64_t tensor_digest(const hr_tensor *out)
{
    uint64_t sum = hr_fingerprint_cat64((uint64_t)out->dtype, (uint64_t)out->shape.rank);
    for (int i = 0; i < out->shape.rank; i++) sum = hr_fingerprint_cat64(sum, (uint64_t)out->shape.dims[i]);
    if (out->dtype != HR_STRING)
        return hr_fingerprint_cat64(
            sum, hr_fingerprint64(out->data ? out->data : "", (size_t)out->count * hr_dtype_size(out->dtype)));
    for (int64_t i = 0; i < out->count; i++) {
        const hr_view v = ((const hr_view *)out->data)[i];
        sum = hr_fingerprint_cat64(sum, hr_fingerprint64(v.size ? v.data : "", (size_t)v.size));
    }
    return sum;
}

void hr__trial_digest(const trial *t, const hr_tensor *out, uint64_t *digest)
{
    for (int i = 0; i < t->fetches; i++) digest[i] = t->fetch[i].output < 0 ? 0 : tensor_digest(&out[i]);
}

hr__trial_seeds hr__trial_has_seeds(const trial *t)
{
    bool any = false;
    for (int i = 0; i < hr_signature_attrs(t->sig); i++) {
        const char *name = hr_signature_attr(t->sig, i)->name;
        if (strncmp(name, "seed", 4) != 0) continue;
        if (hr_attr_int(t->node, name) != 0) return SEEDED;
        any = true;
    }
    return any ? UNSEEDED : NO_SEEDS;
}

bool hr__trial_is_repeatable(const trial *t)
{
    return !(t->op->traits & HR_STATEFUL) || hr__trial_has_seeds(t) == SEEDED;
}

/* ---- what a kernel must not write ---- */

/* Nothing else but the op has memory in this trial: all its inputs are fed. */
static bool is_alone(const trial *t)
{
    for (int i = 0; i < t->inputs; i++)
        if (!hr_node_is(t->input[i], "Placeholder")) return false;
    return !(t->op->traits & (HR_CALLS | HR_FIXED));
}

/* After the values of an output its buffer is as it was allocated: the allocator's fill, then 64 zeros. */
static void check_end(trial *t, int i, const hr_tensor *out)
{
    const unsigned char *data = out->data, *begin = out->buffer ? hr_buffer_data(out->buffer) : NULL;
    if (!data || data != begin || out->dtype == HR_STRING || t->fetch[i].output < 0) return;
    const size_t used = (size_t)out->count * hr_dtype_size(out->dtype), size = hr_buffer_size(out->buffer);
    for (size_t k = used; k < size + 64 && size + 192 < HR__FILLED; k++)
        if (data[k] != (k < size ? HR__FILL : 0)) {
            hr__trial_wrong(t, "conformance.bounds",
                            "expected nothing after the %zu bytes of '%s:%d', got byte %zu written", used,
                            hr_node_name(t->fetch[i]), t->fetch[i].output, k);
            return;
        }
}

static uint64_t feeds_digest(const trial *t)
{
    uint64_t sum = 0;
    for (int i = 0; i < t->feeds; i++)
        if (t->feed[i].value.dtype != HR_RESOURCE) sum = hr_fingerprint_cat64(sum, tensor_digest(&t->feed[i].value));
    return sum;
}

/* ---- the checks ---- */

static void compare(trial *t, const uint64_t *want, const uint64_t *got, const char *how)
{
    for (int i = 0; i < t->fetches; i++)
        if (want[i] != got[i]) {
            hr__trial_wrong(t, "conformance.run", "expected the same result %d %s, got another", i, how);
            return;
        }
}

static bool run_and_digest(trial *t, uint64_t *digest, bool first)
{
    hr_tensor out[MAX_FETCHES] = {{0}};
    const uint64_t before = feeds_digest(t);
    if (!hr__trial_run(t, out)) return false;
    hr__trial_digest(t, out, digest);
    for (int i = 0; first && hr__conformance_counts() && is_alone(t) && i < t->fetches; i++) check_end(t, i, &out[i]);
    hr__trial_clear(t, out);
    if (feeds_digest(t) != before)
        hr__trial_wrong(t, "conformance.input", "expected inputs as they were before the run, got others");
    return true;
}

hr_status hr__trial_repeats(const trial_plan *plan, hr_error *err)
{
    trial t;
    uint64_t want[MAX_FETCHES] = {0}, again[MAX_FETCHES] = {0};
    bool repeatable = false, works = false;
    if (hr__trial_begin(&t, plan) && t.node.graph && !hr_graph_error(t.g)) {
        repeatable = hr__trial_is_repeatable(&t);
        works = run_and_digest(&t, want, true);
        if (works && !(t.op->traits & HR_STATEFUL)) {
            if (run_and_digest(&t, again, false))
                compare(&t, want, again, "in a second run of the session");
            else
                hr__trial_wrong(&t, "conformance.run",
                                "expected the same in a second run of the session, got an error");
        }
    }
    HR_TRY(hr__trial_answer(&t, err));
    if (!works || !repeatable) return HR_OK;

    trial_plan threads = *plan;
    threads.workers = 4;
    if (hr__trial_begin(&t, &threads) && t.node.graph && !hr_graph_error(t.g)) {
        if (run_and_digest(&t, again, false))
            compare(&t, want, again, "in a session with 4 threads");
        else
            hr__trial_wrong(&t, "conformance.run", "expected the same in a session with 4 threads, got an error");
    }
    return hr__trial_answer(&t, err);
}
