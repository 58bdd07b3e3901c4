/* Rows times a packed matrix. Included once per set of instructions, after vector.h.
 *
 * An output is acc = fused(row[k], weight[k], acc) for k = 0, 1, ... and nothing else. How many rows and panels a tile
 * takes together changes which numbers wait in registers, never that chain: this is why a pass over 64 nodes gives each
 * of them the very bits that a pass over one would. */

#define W (2 * LANES)

/* `rows` rows times `panels` panels, both constants where this is inlined. `ahead`: what will be read next, fetched along
 * the way (`ahead_step` bytes per input), or NULL. */
INLINE void NAME(tile)(const int rows, const int panels, const int wide, const float *x, size_t x_stride, const char *w,
                       size_t panel_bytes, size_t step, int depth, float *out, size_t out_stride, int add,
                       const char *ahead, size_t ahead_step)
{
    Vector sums[MAX_ROWS][2 * MAX_PANELS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < 2 * panels; v++) sums[r][v] = (Vector){0};
    for (int k = 0; k < depth; k++) {
        for (int p = 0; p < panels; p++) {
            const char *at = w + p * panel_bytes + k * step;
            Vector low, high;
            if (wide) {
                low = NAME(load)((const float *)at);
                high = NAME(load)((const float *)at + LANES);
            } else {
                Integers pairs = (Integers) * (const NAME(UnalignedIntegers) *)at;
                low = (Vector)(pairs << 16);
                high = (Vector)(pairs & (int32_t)0xffff0000);
            }
            for (int r = 0; r < rows; r++) {
                Vector number = NAME(all)(x[r * x_stride + k]);
                sums[r][2 * p] = FUSED(number, low, sums[r][2 * p]);
                sums[r][2 * p + 1] = FUSED(number, high, sums[r][2 * p + 1]);
            }
        }
        if (ahead) __builtin_prefetch(ahead + k * ahead_step, 0, 2);
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < 2 * panels; v++) {
            float *to = out + r * out_stride + v * LANES;
            NAME(store)(to, add ? NAME(load)(to) + sums[r][v] : sums[r][v]);
        }
}

typedef struct {
    const char *panels;
    size_t panel_bytes, step; /* bytes from panel to panel, from input to input */
    int wide, depth;
} NAME(Operand);

#define Operand NAME(Operand)

#define TILE(R, P)                                                                                                   \
    KERNEL void NAME(tile_##R##_##P)(const Operand *m, int panel, const float *x, size_t x_stride, float *out,        \
                                     size_t out_stride, int add, const char *ahead)                                  \
    {                                                                                                                \
        const char *w = m->panels + panel * m->panel_bytes;                                                          \
        if (m->wide)                                                                                                 \
            NAME(tile)(R, P, 1, x, x_stride, w, m->panel_bytes, m->step, m->depth, out, out_stride, add, ahead,       \
                       m->step);                                                                                     \
        else if (ahead)                                                                                              \
            NAME(tile)(R, P, 0, x, x_stride, w, m->panel_bytes, m->step, m->depth, out, out_stride, add, ahead,       \
                       m->step);                                                                                     \
        else                                                                                                         \
            NAME(tile)(R, P, 0, x, x_stride, w, m->panel_bytes, m->step, m->depth, out, out_stride, add, NULL, 0);    \
    }

TILES

typedef void (*NAME(Tile))(const Operand *, int, const float *, size_t, float *, size_t, int, const char *);

static const NAME(Tile) NAME(tiles)[MAX_ROWS] = {TILE_TABLE};
static const NAME(Tile) NAME(broad_tiles)[MAX_ROWS] = {BROAD_TABLE};
static const int NAME(broad)[MAX_ROWS] = {BROAD_PANELS};

/* `n` rows times `count` panels from `first` on. out points at the first panel's columns; add: onto what is there. */
KERNEL void NAME(multiply)(const Operand *m, int first, int count, const float *x, size_t x_stride, int n, float *out,
                           size_t out_stride, int add)
{
    int blocks = (n + MAX_ROWS - 1) / MAX_ROWS, done = 0;
    if (blocks == 1) { /* few rows: several panels at once keep more sums under way */
        int together = NAME(broad)[n - 1];
        for (; done + together <= count; done += together)
            NAME(broad_tiles)[n - 1](m, first + done, x, x_stride, out + done * W, out_stride, add, NULL);
    }
    for (; done < count; done++)
        for (int b = 0; b < blocks; b++) {
            int from = (int)((int64_t)n * b / blocks), to = (int)((int64_t)n * (b + 1) / blocks);
            const char *ahead =
                b == blocks - 1 && done + 1 < count ? m->panels + (first + done + 1) * m->panel_bytes : NULL;
            NAME(tiles)[to - from - 1](m, first + done, x + from * x_stride, x_stride,
                                       out + from * out_stride + done * W, out_stride, add, ahead);
        }
}

INLINE Operand NAME(operand)(const Matrix *m, const Sizes *s)
{
    return (Operand){m->data, m->panel_bytes, (size_t)W * (s->wide ? 4 : 2), s->wide, m->inputs};
}
