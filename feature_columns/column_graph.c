/* Columns in a graph: a kind is asked for its nodes as it is asked for its results in a pipeline. */
#include "feature_columns/columns_internal.h"
#include <headrace/column_graph.h>

hr_column_node hr_column_int64_constant(const hr_column_graph *g, int64_t value)
{
    const hr_tensor scalar = hr_tensor_of(HR_INT64, HR_SCALAR, &value);
    return hr_column_constant(g, &scalar);
}

hr_column_node hr_column_float_constant(const hr_column_graph *g, float value)
{
    const hr_tensor scalar = hr_tensor_of(HR_FLOAT, HR_SCALAR, &value);
    return hr_column_constant(g, &scalar);
}

hr_column_node hr_column_cast(const hr_column_graph *g, hr_column_node x, hr_dtype from, hr_dtype to)
{
    if (from == to) return x;
    return hr_column_op(g, "Cast", HR_COLUMN_INPUTS(x), HR_COLUMN_ATTRS(HR_COLUMN_TYPE_ATTR("DstT", to)));
}

/* The raw features as `accept` sees them before any data; as many as the column reads. */
static hr_column_values *described_reads(const hr_feature_column *column, const hr_column_nodes *in, int *reads)
{
    static const int32_t no_rows[1];
    const hr_feature *read;
    for (*reads = 0; hr_feature_column_read(column, *reads);) ++*reads;
    hr_column_values *values = hr_calloc((size_t)*reads + 1, sizeof *values);
    for (int i = 0; values && (read = hr_feature_column_read(column, i)); i++) {
        values[i] = (hr_column_values){.dtype = in[i].dtype, .width = in[i].width, .rank = read->shape.rank};
        if (in[i].indices.graph) values[i].splits = no_rows;
    }
    return values;
}

hr_status hr_column_to_graph(const hr_feature_column *column, const hr_column_graph *g, const hr_column_nodes *in,
                             hr_column_nodes *out, hr_error *err)
{
    const hr_error *failed = hr_feature_column_error(column);
    if (failed && err) *err = *failed;
    if (failed) return failed->code;
    const hr_column_kind *kind = hr__column_kind_of(column);
    const void *spec = hr_feature_column_spec(column);
    int reads;
    hr_error why = {0};
    hr_column_values *raw = described_reads(column, in, &reads);
    if (!raw) return hr_no_memory(err, "a column in a graph");
    hr_status st = kind->accept ? kind->accept(spec, raw, &why) : HR_OK;
    hr_free(raw);
    if (st == HR_OK && kind->to_graph)
        st = kind->to_graph(spec, g, in, out, &why);
    else if (st == HR_OK && kind->transform)
        st = hr_fail(&why, HR_UNIMPLEMENTED, "column.to_graph",
                     "%s '%s': expected a kind of column that a graph can compute, with a .to_graph; got one without",
                     kind->name, hr_feature_column_info(column)->name);
    else if (st == HR_OK)
        *out = in[reads]; /* the results of its source */
    st = hr__column_answer(kind->name, st, &why);
    if (st != HR_OK && err) *err = why;
    return st;
}
