/* See conv_tiles.h. */
#include "train/ops/nn/conv_tiles.h"
#include "train/ops/tiles.h"
#include <math.h>

/* A *place* of a window is a pixel. Where the channels of neighbours lie together, a whole row of the window is one place
 * with the channels of all: there is less to find. Of rows that reach into the padding, what they read is copied. */
enum { MAX_ROW = 256 /* values of such a place */ };

/* What a group's pixels are summed from and to: channels read and written. */
static int64_t read_channels(const hr__conv_tiles *c) { return c->by_input ? c->width : c->depth; }
static int64_t written_channels(const hr__conv_tiles *c) { return c->by_input ? c->depth : c->width; }
static int64_t pixels_of_place(const hr__conv_tiles *c) { return c->by_rows ? c->grid.filter[1] : 1; }
static int64_t places_of(const hr__conv_tiles *c) { return c->grid.filter[0] * c->grid.filter[1] / pixels_of_place(c); }
static int64_t place_depth(const hr__conv_tiles *c) { return pixels_of_place(c) * read_channels(c); }

static bool may_go_by_rows(const hr__conv_tiles *c)
{
    const hr__window_grid *g = &c->grid;
    return c->groups == 1 && g->filter[1] > 1 && g->dilation[1] == 1 && (!c->by_input || g->stride[1] == 1) &&
           g->filter[1] <= MAX_ROW / read_channels(c);
}

/* ---- the filter in panels: for each group, panel, and place of the window, rows of the panel's columns ---- */

/* Backwards a window's row is read from its other end. */
static int64_t pixel_read(const hr__conv_tiles *c, int64_t f)
{
    const int64_t wide = c->grid.filter[1];
    return c->by_rows && c->by_input ? f / wide * wide + wide - 1 - f % wide : f;
}

/* The weight of a group's pixel f of the window, read channel k, written channel n. */
static float weight(const hr__conv_tiles *c, int64_t group, int64_t f, int64_t k, int64_t n)
{
    const int64_t in = c->by_input ? n : k, out = c->by_input ? k : n;
    return c->w[(f * c->depth + in) * c->width * c->groups + group * c->width + out];
}

/* False: not all are finite. */
static bool pack(const hr__conv_tiles *c, float *to)
{
    const int64_t pixels = c->grid.filter[0] * c->grid.filter[1], rows = read_channels(c),
                  columns = written_channels(c);
    float probe = 0;
    for (int64_t group = 0; group < c->groups; group++)
        for (int64_t from = 0, width; from < columns; from += width) {
            width = hr__tile_for(columns - from)->width;
            for (int64_t i = 0; i < pixels; i++)
                for (int64_t k = 0, f = pixel_read(c, i); k < rows; k++)
                    for (int64_t n = 0; n < width; n++) {
                        const float w = from + n < columns ? weight(c, group, f, k, from + n) : 0;
                        probe += w * 0;
                        *to++ = w;
                    }
        }
    return probe == 0;
}

static bool has_padding(const hr__window_grid *g)
{
    for (int d = 0; d < 2; d++) {
        const int64_t reach = (g->length[d] - 1) * g->stride[d] + (g->filter[d] - 1) * g->dilation[d] - g->before[d];
        if (g->before[d] > 0 || reach >= g->in[d]) return true;
    }
    return false;
}

bool hr__conv_tiles_pack(hr_kernel *k, hr__conv_tiles *c)
{
    const int64_t pixels = c->grid.filter[0] * c->grid.filter[1], rows = read_channels(c);
    int64_t count;
    float *packed, *none;
    if (pixels == 0 || rows == 0 || written_channels(c) == 0) return false;
    c->by_rows = may_go_by_rows(c);
    if (hr_dim_mul(pixels * rows * c->groups, hr__panels_width(written_channels(c)), &count, NULL) != HR_OK ||
        hr_kernel_array(k, count, sizeof *packed, "a filter", &packed, NULL) != HR_OK ||
        hr_kernel_array(k, place_depth(c), sizeof *none, "a filter", &none, NULL) != HR_OK)
        return false;
    memset(none, 0, (size_t)place_depth(c) * sizeof *none);
    c->packed = packed;
    c->none = none;
    return pack(c, packed) || (!c->by_input && !has_padding(&c->grid));
}

/* ---- six pixels ---- */

enum { PLACES = 32 /* of a window at once */, ROWS = 8 /* places, if they are rows */ };

typedef struct tile {
    hr__pixel pixel[HR__TILE_ROWS];
    int64_t at[HR__TILE_ROWS]; /* where they are written */
    int rows;                  /* pixels that are there */
    const float *a[PLACES * HR__TILE_ROWS];
    int64_t place[PLACES]; /* those of them that any pixel has */
    int count;
    float cut[HR__TILE_ROWS * ROWS * MAX_ROW]; /* what rows read that reach into the padding */
} tile;

/* Where the places of a pixel's window are read along one dimension: at (start + f * step) / by, if that divides. */
typedef struct reach {
    int64_t start, step, by, size;
} reach;

static reach reach_of(const hr__conv_tiles *c, int d, int64_t at)
{
    const hr__window_grid *g = &c->grid;
    if (c->by_input) return (reach){at + g->before[d], -g->dilation[d], g->stride[d], g->length[d]};
    return (reach){at * g->stride[d] - g->before[d], g->dilation[d], 1, g->in[d]};
}

/* False: in the padding, or between. */
static inline bool reach_at(const reach *r, int64_t f, int64_t *at)
{
    *at = r->start + f * r->step;
    if (r->by != 1) {
        if (*at % r->by) return false;
        *at /= r->by;
    }
    return *at >= 0 && *at < r->size;
}

/* A pixel's window, whose rows are places: each begins `from` pixels right of its line's first. */
typedef struct row_window {
    const float *image;
    reach down;
    int64_t from;
    bool is_cut; /* they reach into the padding */
} row_window;

static row_window row_window_of(const hr__conv_tiles *c, const hr__pixel *p)
{
    const hr__window_steps *steps = c->by_input ? &c->grid.of_out : &c->grid.of_in;
    const reach right = reach_of(c, 1, p->w);
    const int64_t wide = c->grid.filter[1], from = right.start - (c->by_input ? wide - 1 : 0);
    return (row_window){.image = (c->by_input ? c->g : c->x) + p->image * steps->image,
                        .down = reach_of(c, 0, p->h),
                        .from = from,
                        .is_cut = from < 0 || from + wide > right.size};
}

/* What the row of that line reads: what lies in the padding is zero in `cut`. */
static const float *cut_row(const hr__conv_tiles *c, const float *line, int64_t from, float *cut)
{
    const int64_t wide = c->grid.filter[1], depth = read_channels(c),
                  size = (c->by_input ? c->grid.length : c->grid.in)[1];
    const int64_t first = from < 0 ? -from : 0, last = size - from < wide ? size - from : wide;
    memset(cut, 0, (size_t)(wide * depth) * sizeof *cut);
    if (first < last)
        memcpy(cut + first * depth, line + (from + first) * depth, (size_t)((last - first) * depth) * sizeof *cut);
    return cut;
}

/* NULL: all of row f lies in the padding. */
static inline const float *row_at(const hr__conv_tiles *c, const row_window *w, int64_t f, float *cut)
{
    int64_t h;
    if (!reach_at(&w->down, f, &h)) return NULL;
    const float *line = w->image + h * (c->by_input ? c->grid.of_out : c->grid.of_in).pixel[0];
    return w->is_cut ? cut_row(c, line, w->from, cut) : line + w->from * read_channels(c);
}

static void find_pixels(const hr__conv_tiles *c, int64_t first, int64_t last, tile *t)
{
    const int64_t *size = c->by_input ? c->grid.in : c->grid.length;
    const hr__window_steps *steps = c->by_input ? &c->grid.of_in : &c->grid.of_out;
    t->rows = last - first < HR__TILE_ROWS ? (int)(last - first) : HR__TILE_ROWS;
    hr__pixel p = hr__pixel_of(first, size);
    for (int r = 0; r < t->rows; r++) {
        t->pixel[r] = p;
        t->at[r] = hr__pixel_at(steps, p);
        hr__pixel_next(&p, size);
    }
}

/* No place is in the padding, or between. */
static bool reach_is_inside(const reach *r, int64_t places)
{
    const int64_t first = r->start, last = r->start + (places - 1) * r->step;
    return r->by == 1 && first >= 0 && first < r->size && last >= 0 && last < r->size;
}

/* Row r of the windows, from place f on. `offset`: where each place lies from the pixel's first. */
static void find_window(const hr__conv_tiles *c, int64_t f, int64_t group, tile *t, int r, const int64_t *offset,
                        bool *any)
{
    const int64_t wide = c->grid.filter[1];
    const hr__window_steps *steps = c->by_input ? &c->grid.of_out : &c->grid.of_in;
    const hr__pixel *p = &t->pixel[r];
    const float *from = (c->by_input ? c->g : c->x) + group * read_channels(c) + p->image * steps->image;
    const reach down = reach_of(c, 0, p->h), right = reach_of(c, 1, p->w);
    if (reach_is_inside(&down, c->grid.filter[0]) && reach_is_inside(&right, wide)) {
        from += down.start * steps->pixel[0] + right.start * steps->pixel[1];
        for (int i = 0; i < t->count; i++) {
            t->a[i * HR__TILE_ROWS + r] = from + offset[i];
            any[i] = true;
        }
        return;
    }
    int64_t high = f / wide, across = f % wide, h, w;
    bool in_row = reach_at(&down, high, &h);
    for (int i = 0; i < t->count; i++) {
        const bool there = in_row && reach_at(&right, across, &w);
        t->a[i * HR__TILE_ROWS + r] = there ? from + h * steps->pixel[0] + w * steps->pixel[1] : c->none;
        any[i] |= there;
        if (++across < wide) continue;
        across = 0;
        in_row = reach_at(&down, ++high, &h);
    }
}

/* The same, where places are rows. */
static void find_rows(const hr__conv_tiles *c, int64_t f, tile *t, int r, bool *any)
{
    const row_window w = row_window_of(c, &t->pixel[r]);
    for (int i = 0; i < t->count; i++) {
        const float *row = row_at(c, &w, f + i, t->cut + (r * ROWS + i) * MAX_ROW);
        t->a[i * HR__TILE_ROWS + r] = row ? row : c->none;
        any[i] |= row != NULL;
    }
}

/* The windows of these pixels, from place `f` on: PLACES of them, or as many as there are, without those that no pixel
 * has. Gives the next place. */
static int64_t find_windows(const hr__conv_tiles *c, int64_t f, int64_t group, tile *t)
{
    const int64_t left = places_of(c) - f, most = c->by_rows ? ROWS : PLACES;
    const int count = (int)(left < most ? left : most);
    const hr__window_steps *steps = c->by_input ? &c->grid.of_out : &c->grid.of_in;
    const int64_t wide = c->grid.filter[1], sign = c->by_input ? -1 : 1;
    bool any[PLACES] = {false};
    int64_t offset[PLACES];
    for (int i = 0; i < count && !c->by_rows; i++)
        offset[i] = sign * ((f + i) / wide * c->grid.dilation[0] * steps->pixel[0] +
                            (f + i) % wide * c->grid.dilation[1] * steps->pixel[1]);
    t->count = count;
    for (int r = 0; r < t->rows; r++)
        c->by_rows ? find_rows(c, f, t, r, any) : find_window(c, f, group, t, r, offset, any);
    t->count = 0;
    for (int i = 0; i < count; i++) {
        if (!any[i]) continue;
        const float **to = t->a + t->count * HR__TILE_ROWS;
        if (t->count < i) memcpy(to, t->a + i * HR__TILE_ROWS, sizeof *to * HR__TILE_ROWS);
        for (int r = t->rows; r < HR__TILE_ROWS; r++) to[r] = c->none;
        t->place[t->count++] = f + i;
    }
    return f + count;
}

/* One panel of a tile. What has fewer rows or columns is summed beside, and its part copied. */
static void run_panel(const hr__conv_tiles *c, const tile *t, const hr__tile *kind, const float *panel, int64_t column,
                      int64_t columns, bool add)
{
    const int64_t rows = place_depth(c);
    const bool whole = t->rows == HR__TILE_ROWS && columns >= kind->width;
    const size_t bytes = (size_t)(columns < kind->width ? columns : kind->width) * sizeof(float);
    const float *b[PLACES];
    float beside[HR__TILE_ROWS * HR__TILE_MAX_WIDTH], *out[HR__TILE_ROWS];
    for (int i = 0; i < t->count; i++) b[i] = panel + t->place[i] * rows * kind->width;
    for (int r = 0; r < HR__TILE_ROWS; r++) out[r] = whole ? c->out + t->at[r] + column : beside + r * kind->width;
    for (int r = 0; !whole && add && r < t->rows; r++) memcpy(out[r], c->out + t->at[r] + column, bytes);
    if (!whole && add)
        for (int r = t->rows; r < HR__TILE_ROWS; r++) memset(out[r], 0, bytes);
    kind->rows(t->a, b, t->count, rows, out, add);
    for (int r = 0; !whole && r < t->rows; r++) memcpy(c->out + t->at[r] + column, out[r], bytes);
}

static void run_group(const hr__conv_tiles *c, tile *t, int64_t group)
{
    const int64_t places = places_of(c), columns = written_channels(c);
    const int64_t step = places * place_depth(c); /* of a panel, by its width */
    for (int64_t f = 0; f < places;) {
        const bool add = f > 0;
        f = find_windows(c, f, group, t);
        const float *panel = c->packed + group * step * hr__panels_width(columns);
        for (int64_t n = 0; n < columns;) {
            const hr__tile *kind = hr__tile_for(columns - n);
            run_panel(c, t, kind, panel, group * columns + n, columns - n, add);
            panel += step * kind->width;
            n += kind->width;
        }
    }
}

void hr__conv_tiles_pixels(int64_t first, int64_t last, void *user)
{
    const hr__conv_tiles *c = user;
    tile t;
    for (; first < last; first += HR__TILE_ROWS) {
        find_pixels(c, first, last, &t);
        for (int64_t group = 0; group < c->groups; group++) run_group(c, &t, group);
    }
}

/* ---- by the filter: sums over pixels, in pieces that are summed at last ---- */

enum { PIXELS = 64 /* at once */, PIECE = 4096, MAX_PIECES = 16, MAX_SUMS = 1 << 22 };

typedef struct by_filter {
    const hr__conv_tiles *c;
    int64_t pieces, panels, pixels, rows, columns; /* of the output; rows: of a panel, for all places */
    float *sums;                                   /* [pieces, groups, columns in panels, rows] */
} by_filter;

/* Some pixels of the output, and what they add. */
typedef struct batch {
    int64_t count;
    hr__pixel pixel[PIXELS];
    row_window row[PIXELS];               /* if places are rows */
    float g[PIXELS * HR__TILE_MAX_WIDTH]; /* a panel of their gradients, beside each other */
    float cut[PIXELS * MAX_ROW];
} batch;

static void take_pixels(const by_filter *w, int64_t first, int64_t last, int64_t group, int64_t column, int64_t width,
                        batch *t)
{
    const hr__conv_tiles *c = w->c;
    const int64_t there = c->width - column < width ? c->width - column : width;
    hr__pixel p = hr__pixel_of(first, c->grid.length);
    float *to = t->g;
    t->count = last - first < PIXELS ? last - first : PIXELS;
    for (int64_t i = 0; i < t->count; i++, to += width) {
        memcpy(to, c->g + hr__pixel_at(&c->grid.of_out, p) + group * c->width + column, (size_t)there * sizeof *to);
        memset(to + there, 0, (size_t)(width - there) * sizeof *to);
        t->pixel[i] = p;
        if (c->by_rows) t->row[i] = row_window_of(c, &p);
        hr__pixel_next(&p, c->grid.length);
    }
}

/* Where place f of the window of pixel i lies; NULL: in the padding. */
static const float *place_at(const by_filter *w, batch *t, int64_t i, int64_t f, int64_t group)
{
    const hr__conv_tiles *c = w->c;
    const hr__pixel *p = &t->pixel[i];
    int64_t h, x;
    if (c->by_rows) return row_at(c, &t->row[i], f, t->cut + i * MAX_ROW);
    const reach down = reach_of(c, 0, p->h), right = reach_of(c, 1, p->w);
    if (!reach_at(&down, f / c->grid.filter[1], &h) || !reach_at(&right, f % c->grid.filter[1], &x)) return NULL;
    return c->x + hr__pixel_at(&c->grid.of_in, (hr__pixel){p->image, h, x}) + group * c->depth;
}

/* What place f of the windows gives: rows are channels of the input. */
static void add_place(const by_filter *w, batch *t, int64_t f, int64_t group, const hr__tile *kind, float *to)
{
    static const int rows_of[] = {HR__TILE_ROWS, 2, 1};
    const int64_t depth = place_depth(w->c);
    const float *a[PIXELS], *b[PIXELS];
    int64_t found = 0, row = 0;
    for (int64_t i = 0; i < t->count; i++) {
        a[found] = place_at(w, t, i, f, group);
        b[found] = t->g + i * kind->width;
        found += a[found] != NULL;
    }
    for (int i = 0; i < 3; i++)
        for (; depth - row >= rows_of[i]; row += rows_of[i]) {
            kind->outer[i](a, b, found, to + row * kind->width);
            for (int64_t n = 0; n < found; n++) a[n] += rows_of[i];
        }
}

/* Item: a piece of the pixels, for one group. */
static void add_piece(int64_t first, int64_t last, void *user)
{
    const by_filter *w = user;
    const int64_t places = places_of(w->c), depth = place_depth(w->c);
    batch t;
    for (int64_t item = first; item < last; item++) {
        const int64_t piece = item / w->c->groups, group = item % w->c->groups;
        const int64_t from = w->pixels * piece / w->pieces, to = w->pixels * (piece + 1) / w->pieces;
        float *sums = w->sums + item * w->rows * w->columns;
        memset(sums, 0, (size_t)(w->rows * w->columns) * sizeof *sums);
        for (int64_t column = 0; column < w->c->width;) {
            const hr__tile *kind = hr__tile_for(w->c->width - column);
            for (int64_t p = from; p < to; p += PIXELS) {
                take_pixels(w, p, to, group, column, kind->width, &t);
                for (int64_t f = 0; f < places; f++) add_place(w, &t, f, group, kind, sums + f * depth * kind->width);
            }
            sums += w->rows * kind->width;
            column += kind->width;
        }
    }
}

/* Item: a row of the filter, [place, channel of the input]. */
static void sum_pieces(int64_t first, int64_t last, void *user)
{
    const by_filter *w = user;
    const hr__conv_tiles *c = w->c;
    for (int64_t row = first; row < last; row++)
        for (int64_t group = 0; group < c->groups; group++) {
            float *out = c->out + (row * c->groups + group) * c->width;
            memset(out, 0, (size_t)c->width * sizeof *out);
            for (int64_t piece = 0; piece < w->pieces; piece++) {
                const float *sums = w->sums + (piece * c->groups + group) * w->rows * w->columns;
                for (int64_t n = 0, width; n < c->width; n += width, sums += w->rows * width) {
                    width = hr__tile_for(c->width - n)->width;
                    for (int64_t i = 0; i < width && n + i < c->width; i++) out[n + i] += sums[row * width + i];
                }
            }
        }
}

static bool all_finite(const float *x, int64_t count)
{
    float probe = 0;
    for (int64_t i = 0; i < count; i++) probe += x[i] * 0;
    return probe == 0;
}

hr_status hr__conv_tiles_by_filter(hr_kernel *k, hr__conv_tiles *c, hr_error *err)
{
    const int64_t places = c->grid.filter[0] * c->grid.filter[1];
    by_filter w = {.c = c, .pixels = c->grid.images * c->grid.length[0] * c->grid.length[1], .rows = places * c->depth};
    w.columns = hr__panels_width(c->width);
    w.pieces = w.pixels / PIECE < MAX_PIECES ? w.pixels / PIECE : MAX_PIECES;
    while (w.pieces > 1 && w.pieces > MAX_SUMS / (w.rows * c->groups * c->width)) w.pieces--;
    if (w.pieces < 1) w.pieces = 1;
    int64_t count;
    HR_TRY(hr_dim_mul(w.rows * c->groups, w.columns * w.pieces, &count, err));
    HR_TRY(hr_kernel_array(k, count, sizeof *w.sums, "sums of a filter's gradient", &w.sums, err));
    const double products = (double)w.pixels * (double)w.rows * (double)c->width;
    c->by_rows = may_go_by_rows(c);
    for (;; c->by_rows = false) { /* again, if infinities of g may have met the padding's zeros */
        hr_kernel_parallel(k, w.pieces * c->groups, products * .02 / (double)w.pieces, add_piece, &w);
        hr_kernel_parallel(k, w.rows, (double)(w.pieces * w.columns * c->groups) * .5, sum_pieces, &w);
        if (!c->by_rows || all_finite(c->out, w.rows * c->groups * c->width)) return HR_OK;
    }
}
