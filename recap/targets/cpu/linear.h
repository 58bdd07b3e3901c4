/* Rows times a packed matrix. Included once per set of instructions, after vector.h.
 *
 * An output is acc = fused(row[k], weight[k], acc) for k = 0, 1, ... and nothing else. How many rows and panels a tile
 * takes together changes which numbers wait in registers, never that chain: this is why a pass over 64 nodes gives each
 * of them the very bits that a pass over one would. */

#define W (2 * LANES)

typedef struct {
    const char *panels;
    size_t panel_bytes, step; /* bytes from panel to panel, from input to input */
    int wide, depth;
} NAME(Operand);

#define Operand NAME(Operand)

/* `rows` rows times `panels` panels from w on, both constants where this is inlined. What will be read next, from `next`
 * on, is fetched along the way, `pace` bytes of each panel per input. */
INLINE void NAME(tile)(const int rows, const int panels, const int wide, const Operand *m, const char *w,
                       const float *x, size_t x_stride, float *out, size_t out_stride, int add, const char *next,
                       size_t pace)
{
    const size_t panel_bytes = m->panel_bytes, step = m->step;
    const int depth = m->depth;
    Vector sums[MAX_ROWS][2 * MAX_PANELS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < 2 * panels; v++) sums[r][v] = (Vector){0};
    for (int k = 0; k < depth; k++) {
        for (int p = 0; p < panels; p++) {
            const char *at = w + p * panel_bytes + k * step;
            Vector low, high;
            __builtin_prefetch(next + p * panel_bytes + k * pace, 0, 2);
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
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < 2 * panels; v++) {
            float *to = out + r * out_stride + v * LANES;
            NAME(store)(to, add ? NAME(load)(to) + sums[r][v] : sums[r][v]);
        }
}

#define TILE(R, P)                                                                                                   \
    KERNEL void NAME(tile_##R##_##P)(const Operand *m, const char *w, const float *x, size_t x_stride, float *out,    \
                                     size_t out_stride, int add, const char *next, size_t pace)                      \
    {                                                                                                                \
        if (m->wide)                                                                                                 \
            NAME(tile)(R, P, 1, m, w, x, x_stride, out, out_stride, add, next, pace);                                 \
        else                                                                                                         \
            NAME(tile)(R, P, 0, m, w, x, x_stride, out, out_stride, add, next, pace);                                 \
    }

TILES

typedef void (*NAME(Tile))(const Operand *, const char *, const float *, size_t, float *, size_t, int, const char *,
                           size_t);

static const NAME(Tile) NAME(tiles)[MAX_ROWS] = {TILE_TABLE};
static const NAME(Tile) NAME(broad_tiles)[MAX_ROWS] = {BROAD_TABLE};
static const int NAME(broad)[MAX_ROWS] = {BROAD_PANELS};

/* `n` rows times `count` panels from `first` on; `after` more will be wanted behind them. out points at the columns of
 * the first panel; add: onto what is there. */
KERNEL void NAME(multiply)(const Operand *m, int first, int count, int after, const float *x, size_t x_stride, int n,
                           float *out, size_t out_stride, int add)
{
    int blocks = (n + MAX_ROWS - 1) / MAX_ROWS, done = 0;
    const char *w = m->panels + first * m->panel_bytes;
    if (blocks == 1) { /* few rows: several panels at once keep more sums under way */
        int together = NAME(broad)[n - 1];
        size_t bytes = together * m->panel_bytes;
        for (; done + together <= count; done += together, w += bytes)
            NAME(broad_tiles)[n - 1](m, w, x, x_stride, out + done * W, out_stride, add,
                                     done + 2 * together <= count + after ? w + bytes : w, m->step);
    }
    for (; done < count; done++, w += m->panel_bytes)
        for (int b = 0; b < blocks; b++) {
            int from = (int)((int64_t)n * b / blocks), to = (int)((int64_t)n * (b + 1) / blocks);
            const char *next = done + 1 < count + after ? w + m->panel_bytes : w; /* each block fetches its share */
            NAME(tiles)[to - from - 1](m, w, x + from * x_stride, x_stride, out + from * out_stride + done * W,
                                       out_stride, add, next + m->panel_bytes / blocks * b, m->step / blocks);
        }
}

INLINE Operand NAME(operand)(const Matrix *m, const Sizes *s)
{
    return (Operand){m->data, m->panel_bytes, (size_t)W * (s->wide ? 4 : 2), s->wide, m->inputs};
}
