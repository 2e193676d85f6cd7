/* A plug-in: a dataset operator in a shared object of its own, made of the same descriptor as the library's operators.
 *
 *     cc -shared -fPIC -o every_nth.so every_nth.c $(pkg-config --cflags headrace)
 *
 * It passes one element of n. Its plan says which, and saves one number, so that a pipeline with it stops and goes on
 * anywhere. */
#include <headrace/op.h>

typedef struct nth_spec {
    int64_t n;
} nth_spec;

typedef struct nth_state {
    int64_t seen; /* saved: elements of the input */
} nth_state;

static hr_status nth_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in, (void)out;
    const nth_spec *sp = spec;
    if (sp->n >= 1) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "every_nth.n", "every_nth: expected n > 0, got %lld", (long long)sp->n);
}

static hr_status nth_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)err;
    const nth_spec *sp = spec;
    nth_state *st = state;
    while (hr_room(p) > 0) {
        hr_span span;
        HR_TRY(hr_pull(p, 0, 1, &span));
        if (st->seen++ % sp->n == 0)
            hr_emit(p, span);
        else
            hr_span_drop(span);
    }
    return HR_OK;
}

static void nth_identity(const void *spec, uint64_t *sum) { hr_identify_i64(sum, ((const nth_spec *)spec)->n); }

static const hr_op every_nth_op = {
    .head = HR_OP_HEAD,
    .name = "every_nth",
    .spec_size = sizeof(nth_spec),
    .state_size = sizeof(nth_state),
    .saved = 1, /* seen */
    .check = nth_check,
    .plan = nth_plan,
    .identity = nth_identity,
};

/* What the program looks up. */
HR_API hr_dataset *every_nth(hr_dataset *in, int64_t n);

hr_dataset *every_nth(hr_dataset *in, int64_t n) { return hr_dataset_new(&every_nth_op, &(nth_spec){n}, &in, 1); }
