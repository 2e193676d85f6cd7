/* Features: the nodes that a batch's components are fed into. A ragged component needs two, its values and where each
 * row of them begins; a sequence's, where each step of a row begins, too. */
#include "base/hash_map.h"
#include "train/layers/layers_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct feature {
    char *name;
    hr_node values, row_splits, step_splits;
    bool label;
    hr_node indices; /* of what the graph makes itself: row and place of each value, or of each step */
    bool all_count;  /* no id is below 0 */
} feature;

struct hr_features {
    hr_graph *g;
    feature *feature;
    int count, capacity;
    hr__map names; /* to the index */
    hr_node rows;  /* where the graph makes them itself: how many */
};

hr_features *hr_features_new(hr_graph *g)
{
    hr_features *f = hr_calloc(1, sizeof *f);
    if (f) f->g = g;
    return f;
}

void hr_features_free(hr_features *features)
{
    if (!features) return;
    for (int i = 0; i < features->count; i++) hr_free(features->feature[i].name);
    hr_free(features->feature);
    hr__map_free(&features->names);
    hr_free(features);
}

static const feature *features_find(const hr_features *features, const char *name)
{
    const int i = features && name ? hr__map_index(&features->names, name) : -1;
    return i >= 0 ? &features->feature[i] : NULL;
}

static hr_status features_add(hr_features *f, feature new)
{
    if (!f || !new.name) {
        hr_node_fail(hr_features_graph(f), HR_INVALID_ARGUMENT, "layers.feature",
                     "features: expected a name, got NULL");
        return HR_INVALID_ARGUMENT;
    }
    if (features_find(f, new.name)) {
        hr_node_fail(f->g, HR_ALREADY_EXISTS, "layers.feature", "features: \"%.60s\" is there already", new.name);
        return HR_ALREADY_EXISTS;
    }
    if (f->count == f->capacity) {
        const int capacity = 2 * f->capacity + 16;
        feature *grown = hr_realloc(f->feature, (size_t)capacity * sizeof *grown);
        if (!grown) return HR_RESOURCE_EXHAUSTED;
        f->feature = grown;
        f->capacity = capacity;
    }
    new.name = hr_strdup(new.name);
    if (!new.name || hr__map_add(&f->names, new.name, strlen(new.name), f->count, NULL) != HR_OK) {
        hr_free(new.name);
        return HR_RESOURCE_EXHAUSTED;
    }
    f->feature[f->count++] = new;
    return HR_OK;
}

hr_status hr_features_add(hr_features *f, const char *name, hr_node values, hr_node row_splits, bool label)
{
    return features_add(f, (feature){.name = (char *)name, .values = values, .row_splits = row_splits, .label = label});
}

hr_status hr_features_add_sequence(hr_features *f, const char *name, hr_node values, hr_node row_splits,
                                   hr_node step_splits)
{
    return hr__features_add_sparse(f, name, values, row_splits, step_splits, (hr_node){0}, false);
}

hr_status hr__features_add_sparse(hr_features *f, const char *name, hr_node values, hr_node row_splits,
                                  hr_node step_splits, hr_node indices, bool all_count)
{
    return features_add(f, (feature){(char *)name, values, row_splits, step_splits, false, indices, all_count});
}

void hr__features_set_rows(hr_features *f, hr_node rows) { f->rows = rows; }

/* ---- from a schema ---- */

/* Levels of splits of a field. Those of a sparse one say only where rows begin. */
static int features_levels_of(const hr_field *field)
{
    int levels = 0;
    if (field->layout == HR_SPARSE) return 1;
    while (field->layout == HR_RAGGED && levels < field->shape.rank && field->shape.dims[levels] < 0) levels++;
    return levels;
}

/* A node's name made of a component's: what the graph does not allow becomes '_', a character of several bytes a single
 * one, as in TensorFlow's scopes; a name that may not begin one has "feature" in front. */
static const char *node_name(const char *component, char name[HR__NAME])
{
    size_t size = 0;
    if (!isalnum((unsigned char)*component) && *component != '.') size = (size_t)snprintf(name, HR__NAME, "feature");
    for (const char *c = component; *c && size < HR__NAME - 32; c++) {
        if (((unsigned char)*c & 0xc0) == 0x80 && c > component) continue; /* inside a UTF-8 character */
        name[size++] =
            (char)(((unsigned char)*c < 0x80 && isalnum((unsigned char)*c)) || strchr("_.-/", *c) ? *c : '_');
    }
    name[size] = '\0';
    return name;
}

static hr_node splits_for(hr_features *f, const hr_field *field, const char *what)
{
    char name[HR__NAME], full[HR__NAME];
    snprintf(full, sizeof full, "%.480s/%s", node_name(field->name, name), what);
    return hr_placeholder(f->g, HR_INT32, HR_SHAPE(-1), .name = full);
}

static hr_status features_add_field(hr_features *f, const hr_field *field)
{
    const int levels = features_levels_of(field);
    const int inner =
        field->layout == HR_SPARSE ? field->shape.rank : levels; /* dimensions that the splits stand for */
    hr_shape shape = HR_SHAPE(-1);
    feature new = {.name = (char *)field->name, .label = field->label};
    for (int i = inner; i < field->shape.rank && shape.rank < HR_MAX_RANK; i++)
        shape.dims[shape.rank++] = field->shape.dims[i];
    if (levels > 0) new.row_splits = splits_for(f, field, "row_splits");
    if (levels > 1) new.step_splits = splits_for(f, field, "step_splits");
    char name[HR__NAME];
    new.values = hr_placeholder(f->g, field->dtype, shape, .name = node_name(field->name, name));
    return features_add(f, new);
}

hr_features *hr_placeholders_for(hr_graph *g, const hr_schema *schema)
{
    hr_features *f = hr_features_new(g);
    for (int i = 0; f && schema && i < schema->fields; i++) {
        if (features_add_field(f, &schema->field[i]) == HR_OK) continue;
        if (!hr_graph_error(g)) hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for features");
        break;
    }
    return f;
}

/* ---- looking ---- */

hr_graph *hr_features_graph(const hr_features *features) { return features ? features->g : NULL; }
bool hr_features_has(const hr_features *features, const char *name) { return features_find(features, name) != NULL; }
int hr_features_count(const hr_features *features) { return features ? features->count : 0; }

const char *hr_features_name(const hr_features *features, int i)
{
    return i >= 0 && i < hr_features_count(features) ? features->feature[i].name : NULL;
}

hr_node hr_feature_values(const hr_features *features, const char *name)
{
    const feature *f = features_find(features, name);
    if (f) return f->values;
    return hr_node_fail(hr_features_graph(features), HR_NOT_FOUND, "layers.feature",
                        "features: expected a component \"%.60s\" in the batches, but there is none; does the pipeline "
                        "end with hr_transform_features for these columns?",
                        name ? name : "");
}

hr_node hr_feature_row_splits(const hr_features *features, const char *name)
{
    const feature *f = features_find(features, name);
    return f ? f->row_splits : (hr_node){0};
}

hr_node hr_feature_step_splits(const hr_features *features, const char *name)
{
    const feature *f = features_find(features, name);
    return f ? f->step_splits : (hr_node){0};
}

hr_node hr__feature_indices(const hr_features *features, const char *name)
{
    const feature *f = features_find(features, name);
    return f ? f->indices : (hr_node){0};
}

bool hr__feature_all_count(const hr_features *features, const char *name)
{
    const feature *f = features_find(features, name);
    return f && f->all_count;
}

hr_node hr__features_rows(const hr_features *features) { return features->rows; }

hr_node hr_label(const hr_features *features)
{
    for (int i = 0; i < hr_features_count(features); i++)
        if (features->feature[i].label) return features->feature[i].values;
    return (hr_node){0};
}

/* ---- feeding ---- */

int hr_features_feeds(const hr_features *features) { return 3 * hr_features_count(features); }

static hr_tensor borrowed(hr_dtype dtype, hr_shape shape, int64_t count, const void *data)
{
    static const int64_t nothing = 0;
    hr_tensor t = hr_tensor_of(dtype, shape, data ? data : &nothing);
    t.count = count;
    return t;
}

/* The values without what splits say of them: [count], or [count / inner, inner dimensions]. */
static hr_tensor flat_values(const hr_tensor *t)
{
    hr_shape shape = HR_SHAPE(t->count);
    for (int i = 1 + t->ragged_rank; t->layout == HR_RAGGED && i < t->shape.rank; i++) {
        shape.dims[shape.rank++] = t->shape.dims[i];
        shape.dims[0] = t->shape.dims[i] > 0 ? shape.dims[0] / t->shape.dims[i] : 0;
    }
    return borrowed(t->dtype, shape, t->count, t->data);
}

static hr_tensor splits_of(const int32_t *splits, int64_t count)
{
    return borrowed(HR_INT32, HR_SHAPE(count + 1), count + 1, splits);
}

static hr_status feed_component(const feature *f, const hr_tensor *t, hr_feed *feeds, int *count, hr_error *err)
{
    char shape[128];
    if (!f->row_splits.graph) {
        if (t->layout != HR_DENSE)
            return hr_fail(err, HR_INVALID_ARGUMENT, "layers.batch", "feed: expected \"%.60s\" to be dense", f->name);
        feeds[(*count)++] = (hr_feed){f->values, borrowed(t->dtype, t->shape, t->count, t->data)};
        return HR_OK;
    }
    if (t->layout == HR_DENSE || !t->splits[0] || t->shape.rank < 1 || t->shape.dims[0] < 0 ||
        (f->step_splits.graph && !t->splits[1]))
        return hr_fail(
            err, HR_INVALID_ARGUMENT, "layers.batch",
            "feed: expected \"%.60s\" to have row splits, got a component of shape %s; put the elements into "
            "batches",
            f->name, hr_shape_text(t->shape, shape, sizeof shape));
    feeds[(*count)++] = (hr_feed){f->values, flat_values(t)};
    feeds[(*count)++] = (hr_feed){f->row_splits, splits_of(t->splits[0], t->shape.dims[0])};
    if (f->step_splits.graph)
        feeds[(*count)++] = (hr_feed){f->step_splits, splits_of(t->splits[1], t->splits[0][t->shape.dims[0]])};
    return HR_OK;
}

/* hr_get gives none also where it has no memory for a component's splits. */
static bool has_component(const hr_element *e, const char *name)
{
    const hr_schema *schema = hr_element_schema(e);
    for (int i = 0; i < schema->fields; i++)
        if (strcmp(schema->field[i].name, name) == 0) return true;
    return false;
}

hr_status hr_feed_element(const hr_features *features, const hr_element *e, hr_feed *feeds, int *count, hr_error *err)
{
    if (count) *count = 0;
    if (!features || !e || !feeds || !count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "layers.batch",
                       "feed: expected features, a batch, and a place for the feeds, got NULL");
    for (int i = 0; i < features->count; i++) {
        const feature *f = &features->feature[i];
        const hr_tensor *t = hr_get(e, f->name);
        if (!t && has_component(e, f->name)) return hr_no_memory(err, "a component of the batch");
        if (!t && f->label) continue; /* predictions need none; what does says so */
        if (!t)
            return hr_fail(err, HR_NOT_FOUND, "layers.batch", "feed: expected a component \"%.60s\" in the batch",
                           f->name);
        HR_TRY(feed_component(f, t, feeds, count, err));
    }
    return HR_OK;
}
