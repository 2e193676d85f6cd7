/* What a pipeline will do, before it runs: the stages it is cut into, from the consumer down, what each gives, and what
 * is done in another place than it was written. Nothing is opened. */
#include "base/text.h"
#include "data/exec/engine.h"
#include <inttypes.h>
#include <string.h>

static void explain_stage(hr__text *t, hr_dataset *ds, const hr_settings *settings, int depth);

/* ---- what comes out ---- */

static void write_field(hr__text *t, const hr_field *f, int levels)
{
    static const char *const layouts[] = {[HR_DENSE] = "", [HR_RAGGED] = " ragged", [HR_SPARSE] = " sparse"};
    hr__text_printf(t, "%s: %s", f->name, hr_dtype_name(f->dtype));
    if (f->shape.rank + levels > 0) hr__text_add(t, " [");
    for (int i = 0; i < levels; i++) hr__text_add(t, i ? ", ?" : "?");
    for (int i = 0; i < f->shape.rank; i++) {
        hr__text_add(t, i + levels ? ", " : "");
        if (f->shape.dims[i] < 0)
            hr__text_add(t, "?");
        else
            hr__text_printf(t, "%" PRId64, f->shape.dims[i]);
    }
    hr__text_printf(t, "%s%s%s", f->shape.rank + levels > 0 ? "]" : "", layouts[f->layout], f->label ? " (label)" : "");
}

static void write_schema(hr__text *t, const hr_schema *schema)
{
    enum { MAX = 8 };
    for (int i = 0; i < schema->fields && i < MAX; i++) {
        if (i) hr__text_add(t, ", ");
        write_field(t, &schema->field[i], schema->levels);
    }
    if (schema->fields > MAX) hr__text_printf(t, ", and %d more", schema->fields - MAX);
}

/* ---- a stage ---- */

static void indent(hr__text *t, int depth)
{
    for (int i = 0; i < depth; i++) hr__text_add(t, "  ");
}

/* What is set for the stage, and all below it, by operators that do nothing else. */
static void write_settings(hr__text *t, const hr_dataset *ds, const hr_dataset *top, int depth)
{
    char described[200];
    for (; ds != top; ds = ds->in[0]) {
        if (!(ds->op->traits & HR_PASSES_ROWS)) continue;
        hr__dataset_describe(ds, described, sizeof described);
        indent(t, depth + 1);
        hr__text_printf(t, "under %s\n", described);
    }
}

/* Operators between a batch and what its stage really pulls from: their work was moved above it. */
static void write_moved(hr__text *t, const stage *s, int depth)
{
    const hr_dataset *top = s->top->ds;
    if (!top->inputs) return;
    for (const hr_dataset *ds = top->in[0]; ds != s->top->below && ds->inputs; ds = ds->in[0]) {
        if (!ds->op->work) continue;
        indent(t, depth + 1);
        hr__text_printf(t, "rewritten: %s is written below %s and done above it, on whole batches at once\n",
                        ds->op->name, top->op->name);
    }
}

/* What a node pulls from: those it calls directly belong to its stage, and are looked through. */
static void explain_inputs(hr__text *t, hr_dataset *ds, hr_dataset *below, const hr_settings *settings, int depth)
{
    for (int i = 0; i < ds->inputs; i++) {
        hr_dataset *input = i == 0 ? below : ds->in[i];
        if (i == 0 && hr__dataset_is_node(ds, below))
            explain_inputs(t, below, below->inputs ? below->in[0] : NULL, settings, depth);
        else
            explain_stage(t, input, settings, depth);
    }
}

static void explain_stage(hr__text *t, hr_dataset *ds, const hr_settings *settings, int depth)
{
    stage s = {.ds = ds};
    if (!hr__stage_cut(&s, *settings)) {
        t->failed = true;
        hr_free(s.work);
        return;
    }
    const line l = hr__line_of(&s);
    const int64_t count = hr_cardinality(ds);
    indent(t, depth);
    hr__text_printf(t, "%s\n", l.name);
    indent(t, depth + 1);
    hr__text_add(t, "gives ");
    write_schema(t, &ds->out.schema);
    if (count >= 0) hr__text_printf(t, "; %" PRId64 " elements", count);
    if (count == HR_INFINITE_CARDINALITY) hr__text_add(t, "; elements without end");
    hr__text_add(t, "\n");
    write_settings(t, ds, s.top->ds, depth);
    write_moved(t, &s, depth);
    explain_inputs(t, s.top->ds, s.top->below, &s.top->below_settings, depth + 1);
    hr__plan_node_free(s.top);
    hr_free(s.work);
}

char *hr_explain_dataset(hr_dataset *ds)
{
    hr__text t = {0};
    if (hr_dataset_error(ds))
        hr__text_printf(&t, "This pipeline cannot run: %s\n", hr_dataset_error(ds)->text);
    else
        explain_stage(&t, ds, &(hr_settings){0}, 0);
    return hr__text_take(&t);
}
