/* See graph_picture.h. Layers: a box stands one layer above the highest that it needs; in a layer, boxes are sorted by
 * the mean place of what they need, so that few edges cross. */
#include "cli/graph_picture.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BOXES = 4000, BOX_HEIGHT = 34, LAYER_HEIGHT = 74, BOX_GAP = 24, LETTER_WIDTH = 7, SWEEPS = 4 };

typedef struct picture_box {
    char *name;
    const char *op; /* of the one node in it */
    int nodes;
    int layer, place, width, x;
    double wish; /* the mean place of its neighbours */
} picture_box;

typedef struct picture_edge {
    int from, to, count;
    bool control; /* all are */
} picture_edge;

typedef struct picture {
    picture_box *box;
    int boxes;
    picture_edge *edge;
    int edges;
    int *box_of; /* by node */
    int layers;
} picture;

static void picture_free(picture *p)
{
    for (int i = 0; i < p->boxes; i++) hr_free(p->box[i].name);
    hr_free(p->box);
    hr_free(p->edge);
    hr_free(p->box_of);
}

/* ---- boxes ---- */

/* How much of a name is the box's. */
static size_t scope_size(const char *name, int depth)
{
    size_t size = 0;
    for (int part = 0; depth > 0 && part < depth; part++) {
        const char *slash = strchr(name + size, '/');
        if (!slash) return strlen(name);
        size = (size_t)(slash - name) + 1;
    }
    return depth > 0 ? size - 1 : strlen(name);
}

typedef struct named_node {
    const char *name;
    size_t size;
    int32_t id;
} named_node;

static int by_scope(const void *a, const void *b)
{
    const named_node *x = a, *y = b;
    const size_t size = x->size < y->size ? x->size : y->size;
    const int order = memcmp(x->name, y->name, size);
    if (order) return order;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static bool same_scope(const named_node *a, const named_node *b)
{
    return a->size == b->size && memcmp(a->name, b->name, a->size) == 0;
}

static hr_status too_many(int boxes, hr_error *err)
{
    return hr_fail(err, HR_RESOURCE_EXHAUSTED, "graph.picture",
                   "a picture: expected at most %d boxes, got %d and more; use --depth 1 for one box for each scope",
                   MOST_BOXES, boxes);
}

static hr_status make_boxes(picture *p, hr_graph *g, int depth, hr_error *err)
{
    const int32_t all = hr_graph_size(g);
    int32_t size = 0; /* without hidden ones */
    named_node *node = hr_calloc((size_t)all + 1, sizeof *node);
    p->box_of = hr_calloc((size_t)all + 1, sizeof *p->box_of);
    p->box = hr_calloc(MOST_BOXES + 1, sizeof *p->box);
    hr_status st = node && p->box_of && p->box ? HR_OK : hr_no_memory(err, "a picture");
    for (int32_t i = 0; st == HR_OK && i < all; i++) {
        const char *name = hr_node_name((hr_node){g, i, 0});
        if (!hr_node_hidden((hr_node){g, i, 0})) node[size++] = (named_node){name, scope_size(name, depth), i};
    }
    if (st == HR_OK && size > 0) qsort(node, (size_t)size, sizeof *node, by_scope);
    for (int32_t i = 0; st == HR_OK && i < size; i++) {
        if (i == 0 || !same_scope(&node[i], &node[i - 1])) {
            if (p->boxes == MOST_BOXES) {
                st = too_many(p->boxes, err);
                break;
            }
            picture_box *box = &p->box[p->boxes++];
            box->op = hr_node_op((hr_node){g, node[i].id, 0});
            box->name = hr_malloc(node[i].size + 1);
            if (!box->name) st = hr_no_memory(err, "a picture");
            if (!box->name) break;
            memcpy(box->name, node[i].name, node[i].size);
            box->name[node[i].size] = 0;
        }
        p->box_of[node[i].id] = p->boxes - 1;
        p->box[p->boxes - 1].nodes++;
    }
    hr_free(node);
    return st;
}

/* ---- edges ---- */

static int by_ends(const void *a, const void *b)
{
    const picture_edge *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

static hr_status make_edges(picture *p, hr_graph *g, hr_error *err)
{
    size_t most = 1;
    for (int32_t i = 0; i < hr_graph_size(g); i++)
        most += (size_t)hr_node_inputs((hr_node){g, i, 0}) + (size_t)hr_node_controls((hr_node){g, i, 0});
    p->edge = hr_calloc(most, sizeof *p->edge);
    if (!p->edge) return hr_no_memory(err, "a picture");
    for (int32_t i = 0; i < hr_graph_size(g); i++) {
        const hr_node node = {g, i, 0};
        for (int j = 0; j < hr_node_inputs(node) + hr_node_controls(node) && !hr_node_hidden(node); j++) {
            const bool control = j >= hr_node_inputs(node);
            const hr_node from = control ? hr_node_control(node, j - hr_node_inputs(node)) : hr_node_input(node, j);
            if (p->box_of[from.id] != p->box_of[i])
                p->edge[p->edges++] = (picture_edge){p->box_of[from.id], p->box_of[i], 1, control};
        }
    }
    qsort(p->edge, (size_t)p->edges, sizeof *p->edge, by_ends);
    int kept = 0;
    for (int i = 0; i < p->edges; i++) {
        if (kept > 0 && by_ends(&p->edge[kept - 1], &p->edge[i]) == 0) {
            p->edge[kept - 1].count++;
            p->edge[kept - 1].control &= p->edge[i].control;
        } else {
            p->edge[kept++] = p->edge[i];
        }
    }
    p->edges = kept;
    return HR_OK;
}

/* ---- layers and places ---- */

/* Edges go up. Boxes of several nodes may need each other: after as many rounds as there are boxes, what still moves is
 * such a circle, and stays. */
static void find_layers(picture *p)
{
    bool moved = true;
    for (int round = 0; moved && round < p->boxes && round < 400; round++) {
        moved = false;
        for (int i = 0; i < p->edges; i++) {
            picture_box *to = &p->box[p->edge[i].to];
            const int least = p->box[p->edge[i].from].layer + 1;
            if (to->layer >= least || least > p->boxes || least > 400) continue;
            to->layer = least;
            moved = true;
        }
    }
    for (int i = 0; i < p->boxes; i++)
        if (p->box[i].layer >= p->layers) p->layers = p->box[i].layer + 1;
}

typedef struct wished_box {
    double wish;
    int box;
} wished_box;

static int by_wish(const void *a, const void *b)
{
    const wished_box *x = a, *y = b;
    if (x->wish < y->wish || x->wish > y->wish) return x->wish < y->wish ? -1 : 1;
    return (x->box > y->box) - (x->box < y->box);
}

/* The mean place of what a box is joined with; `up`: of what it needs, else of what needs it. */
static void find_wishes(picture *p, bool up, int *joined)
{
    memset(joined, 0, sizeof *joined * (size_t)p->boxes);
    for (int i = 0; i < p->boxes; i++) p->box[i].wish = 0;
    for (int i = 0; i < p->edges; i++) {
        const int to = up ? p->edge[i].to : p->edge[i].from, from = up ? p->edge[i].from : p->edge[i].to;
        p->box[to].wish += p->box[from].x + p->box[from].width / 2.0;
        joined[to]++;
    }
    for (int i = 0; i < p->boxes; i++)
        p->box[i].wish = joined[i] ? p->box[i].wish / joined[i] : p->box[i].x + p->box[i].width / 2.0;
}

static void place_layer(picture *p, int layer, wished_box *order)
{
    int count = 0, x = BOX_GAP;
    for (int i = 0; i < p->boxes; i++)
        if (p->box[i].layer == layer) order[count++] = (wished_box){p->box[i].wish, i};
    qsort(order, (size_t)count, sizeof *order, by_wish);
    for (int i = 0; i < count; i++) {
        picture_box *box = &p->box[order[i].box];
        const int wish = (int)(box->wish - box->width / 2.0);
        box->x = wish > x ? wish : x;
        x = box->x + box->width + BOX_GAP;
    }
}

static hr_status place_boxes(picture *p, hr_error *err)
{
    int *joined = hr_calloc((size_t)p->boxes + 1, sizeof *joined);
    wished_box *order = hr_calloc((size_t)p->boxes + 1, sizeof *order);
    hr_status st = joined && order ? HR_OK : hr_no_memory(err, "a picture");
    for (int i = 0; st == HR_OK && i < p->boxes; i++) {
        const size_t name = strlen(p->box[i].name), op = p->box[i].nodes == 1 ? strlen(p->box[i].op) : 12;
        const size_t letters = name > op ? name : op;
        p->box[i].width = (int)(letters > 60 ? 60 : letters) * LETTER_WIDTH + 20;
    }
    for (int sweep = 0; st == HR_OK && sweep < SWEEPS; sweep++) {
        for (int layer = 0; layer < p->layers; layer++) {
            const int at = sweep % 2 ? p->layers - 1 - layer : layer;
            if (layer == 0 || p->layers < 200) find_wishes(p, sweep % 2 == 0, joined);
            place_layer(p, at, order);
        }
    }
    hr_free(joined);
    hr_free(order);
    return st;
}

static hr_status picture_make(picture *p, hr_graph *g, int depth, hr_error *err)
{
    HR_TRY(make_boxes(p, g, depth, err));
    return make_edges(p, g, err);
}

/* ---- writing ---- */

static void picture_add(text_buffer *out, const char *format, ...) HR_PRINTF(2, 3);
static void picture_add(text_buffer *out, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    text_add(out, text);
}

/* At most 60 letters: the end says more than the beginning. */
static void picture_label(text_buffer *out, const char *name)
{
    const size_t size = strlen(name);
    if (size > 60) text_add(out, "..");
    for (const char *at = size > 60 ? name + size - 58 : name; *at; at++) {
        if (*at == '<')
            text_add(out, "&lt;");
        else if (*at == '>')
            text_add(out, "&gt;");
        else if (*at == '&')
            text_add(out, "&amp;");
        else if (*at == '"')
            text_add(out, "&quot;");
        else
            text_byte(out, *at);
    }
}

static hr_status picture_done(const text_buffer *out, hr_error *err)
{
    return out->failed ? hr_no_memory(err, "a picture") : HR_OK;
}

static hr_view picture_view(const char *text) { return (hr_view){text, (int64_t)strlen(text)}; }

hr_status graph_as_dot(hr_graph *g, int depth, text_buffer *out, hr_error *err)
{
    picture p = {0};
    const hr_status st = picture_make(&p, g, depth, err);
    if (st == HR_OK) text_add(out, "digraph graph_of_nodes {\n  rankdir = BT;\n  node [shape = box];\n");
    for (int i = 0; st == HR_OK && i < p.boxes; i++) {
        text_add(out, "  ");
        text_quoted(out, picture_view(p.box[i].name));
        if (p.box[i].nodes == 1)
            picture_add(out, " [tooltip = \"%.100s\"];\n", p.box[i].op);
        else
            picture_add(out, " [tooltip = \"%d nodes\", style = rounded];\n", p.box[i].nodes);
    }
    for (int i = 0; st == HR_OK && i < p.edges; i++) {
        text_add(out, "  ");
        text_quoted(out, picture_view(p.box[p.edge[i].from].name));
        text_add(out, " -> ");
        text_quoted(out, picture_view(p.box[p.edge[i].to].name));
        if (p.edge[i].control) text_add(out, " [style = dashed]");
        if (!p.edge[i].control && p.edge[i].count > 1) picture_add(out, " [label = \"%d\"]", p.edge[i].count);
        text_add(out, ";\n");
    }
    if (st == HR_OK) text_add(out, "}\n");
    picture_free(&p);
    return st == HR_OK ? picture_done(out, err) : st;
}

/* The layer at the bottom needs nothing. */
static int picture_y(const picture *p, int layer) { return BOX_GAP + (p->layers - 1 - layer) * LAYER_HEIGHT; }

static void svg_edge(const picture *p, const picture_edge *e, text_buffer *out)
{
    const picture_box *from = &p->box[e->from], *to = &p->box[e->to];
    const int x0 = from->x + from->width / 2, y0 = picture_y(p, from->layer);
    const int x1 = to->x + to->width / 2, y1 = picture_y(p, to->layer) + BOX_HEIGHT;
    picture_add(out, "<path class=\"%s\" d=\"M%d %dC%d %d %d %d %d %d\"/>\n", e->control ? "control" : "data", x0, y0,
                x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
}

static void svg_box(const picture *p, const picture_box *box, text_buffer *out)
{
    const int y = picture_y(p, box->layer), middle = box->x + box->width / 2;
    picture_add(out, "<g><title>");
    picture_label(out, box->name);
    picture_add(out, "</title><rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/>",
                box->nodes == 1 ? "node" : "scope", box->x, y, box->width, BOX_HEIGHT);
    picture_add(out, "<text x=\"%d\" y=\"%d\">", middle, y + 14);
    picture_label(out, box->name);
    picture_add(out, "</text><text class=\"op\" x=\"%d\" y=\"%d\">", middle, y + 28);
    if (box->nodes == 1)
        picture_label(out, box->op);
    else
        picture_add(out, "%d nodes", box->nodes);
    picture_add(out, "</text></g>\n");
}

static void svg_head(const picture *p, text_buffer *out)
{
    int width = 200;
    for (int i = 0; i < p->boxes; i++)
        if (p->box[i].x + p->box[i].width + BOX_GAP > width) width = p->box[i].x + p->box[i].width + BOX_GAP;
    const int height = picture_y(p, 0) + BOX_HEIGHT + BOX_GAP;
    picture_add(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n",
                width, height, width, height);
    text_add(out, "<style>rect{fill:#fff;stroke:#345}rect.scope{fill:#e8eef8}path{fill:none;stroke:#678}"
                  "path.control{stroke-dasharray:4 3;stroke:#aaa}text{font:11px sans-serif;text-anchor:middle}"
                  "text.op{fill:#678;font-size:10px}</style>\n<rect class=\"page\" style=\"stroke:none\" ");
    picture_add(out, "width=\"%d\" height=\"%d\"/>\n", width, height);
}

hr_status graph_as_svg(hr_graph *g, int depth, text_buffer *out, hr_error *err)
{
    picture p = {0};
    hr_status st = picture_make(&p, g, depth, err);
    if (st == HR_OK) find_layers(&p);
    if (st == HR_OK) st = place_boxes(&p, err);
    if (st == HR_OK) svg_head(&p, out);
    for (int i = 0; st == HR_OK && i < p.edges; i++) svg_edge(&p, &p.edge[i], out);
    for (int i = 0; st == HR_OK && i < p.boxes; i++) svg_box(&p, &p.box[i], out);
    if (st == HR_OK) text_add(out, "</svg>\n");
    picture_free(&p);
    return st == HR_OK ? picture_done(out, err) : st;
}
