/* Convolutions of floats whose channels lie together, in tiles of registers (tiles.h): each tile is six pixels by some
 * channels, and its windows are read where they lie. Not a public header. */
#ifndef HR_CONV_TILES_H
#define HR_CONV_TILES_H

#include "train/ops/nn/windows.h"

/* One convolution, or a derivative. */
typedef struct hr__conv_tiles {
    hr__window_grid grid;
    int64_t groups, depth, width; /* of a group: channels of the input, and of the output */
    const float *x, *w, *g;       /* input, filter, gradient of the output */
    float *out;
    bool by_input;       /* from g and w to the input's gradient; else from x and w to the output */
    bool by_rows;        /* a row of a window is read as one */
    const float *packed; /* w in panels of a tile's width */
    const float *none;   /* what lies in the padding: zeros */
} hr__conv_tiles;

/* Packs the filter into memory of the kernel. False: it has values that zeros in the padding would turn into NaN, or
 * there is nothing to compute or no memory, and the plain loops are for it. */
bool hr__conv_tiles_pack(hr_kernel *k, hr__conv_tiles *c);
/* Pixels first to last - 1 of the output, or of the input; `user` is the hr__conv_tiles. */
void hr__conv_tiles_pixels(int64_t first, int64_t last, void *user);

/* The gradient by the filter, whole, into out. */
hr_status hr__conv_tiles_by_filter(hr_kernel *k, hr__conv_tiles *c, hr_error *err);

#endif
