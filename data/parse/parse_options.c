/* See parse_options.h. */
#include "data/parse/parse_options.h"
#include <string.h>

hr__parse_options hr__parse_options_of(hr__damaged_rows damaged, const hr_dataset *in,
                                       const hr_parse_example_opts *opts)
{
    const hr_schema *schema = hr_dataset_schema(in);
    const hr_parse_example_opts o = HR_OPTIONS(hr_parse_example_opts, opts);
    return (hr__parse_options){
        .label = o.label,
        .source = o.source,
        .tf_compat = o.tf_compat,
        .unordered = o.unordered,
        .single = !schema || schema->levels == 0,
        .asked = o.policy,
        .damaged = damaged,
    };
}

bool hr__parse_options_drop(const hr__parse_options *o) { return o->asked.on_error != HR_FAIL; }

hr_status hr__parse_options_copy(hr__parse_options *o, hr_error *err)
{
    const char *source = o->source;
    o->source = hr_strdup(source);
    o->policy = NULL;
    if (source && !o->source) return hr_no_memory(err, o->damaged.who);
    return hr__policy_new(&o->asked, o->damaged.who, &o->policy, err);
}

void hr__parse_options_free(hr__parse_options *o)
{
    hr_free((char *)o->source);
    hr__policy_free(o->policy);
}

/* ---- the records ---- */

/* The component that holds them; -1: there is none, or nobody said which of several. */
static int source_of(const hr_schema *in, const char *name)
{
    int found = -1;
    for (int i = 0; i < in->fields; i++) {
        const hr_field *f = &in->field[i];
        if (f->dtype != HR_STRING || f->layout != HR_DENSE || f->shape.rank != 0) continue;
        if (name && strcmp(name, f->name) != 0) continue;
        if (found >= 0) return -1;
        found = i;
    }
    return found;
}

static hr_status no_source(const char *who, const char *name, hr_error *err)
{
    if (!name)
        return hr_fail(err, HR_INVALID_ARGUMENT, "parse_example.source",
                       "%s: expected one string component to parse, found none or several; name one with .source", who);
    return hr_fail(err, HR_INVALID_ARGUMENT, "parse_example.source",
                   "%s: expected a string component '%.60s' to parse, found none; name one with .source", who, name);
}

hr_status hr__parse_options_check(const hr__parse_options *o, const hr_schema *in, hr_error *err)
{
    if (source_of(in, o->source) < 0) return no_source(o->damaged.who, o->source, err);
    return hr__damaged_rows_check(o->policy, o->damaged.who, in->levels, err);
}

void hr__parse_options_identity(const hr__parse_options *o, uint64_t *sum)
{
    hr_identify_text(sum, o->source);
    hr_identify_i64(sum, o->tf_compat);
    hr_identify_i64(sum, hr__policy_on_error(o->policy));
}

void hr__parse_options_settings(const hr__parse_options *o, hr_settings *below)
{
    below->stage_unordered |= o->unordered;
}

void hr__parse_options_describe(const hr__parse_options *o, hr_description *to)
{
    hr_describe_flag(to, "tf_compat", o->tf_compat);
    hr_describe_flag(to, "skip", o->policy != NULL);
    hr_describe_flag(to, "unordered", o->unordered);
}

/* ---- a unit ---- */

hr_status hr__parse_begin(const hr__parse_options *o, bool widens, hr_work *w, hr_columns *rows, hr__parse_call *call,
                          hr_error *err)
{
    const int source = source_of(rows->schema, o->source);
    call->tf_compat = o->tf_compat || hr_work_tf_compat(w);
    call->whole_batches = call->tf_compat && !o->single;
    if (call->tf_compat && widens)
        return hr_fail(err, HR_INVALID_ARGUMENT, "parse_example.spec",
                       "%s: expected no feature with .widen, since tf_compat is set; ask for the types that the "
                       "records have",
                       o->damaged.who);
    HR_TRY(hr_new_columns(w, rows, &call->before, err));
    call->record = call->before.column[source].values;
    call->damaged = o->damaged;
    call->damaged.policy = o->policy;
    call->damaged.work = w;
    call->damaged.rows = rows;
    if (o->policy) hr_work_count(w, call->damaged.seen, rows->rows);
    return HR_OK;
}

hr_status hr__parse_end(hr__parse_call *call, hr_status status, hr_error *err)
{
    const hr_status dropped = hr__damaged_rows_drop(&call->damaged, status == HR_OK ? err : NULL);
    return status == HR_OK ? dropped : status;
}
