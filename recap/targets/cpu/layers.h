/* The parts of a layer around attention, each row by itself. Included once per set of instructions, after linear.h. */

#define ROWS_PER_PIECE 4
#define GROUP 48 /* rows whose gate and up projections wait on the stack together */

typedef struct {
    Pass *pass;
    const Matrix *matrix;
    const float *from, *scale;
    float *to;
    int layer, piece, add; /* piece: panels, or pairs of panels, taken at once; add: onto what is in `to` */
} NAME(Stage);

#define Stage NAME(Stage)

/* to = from / sqrt(mean of squares + epsilon) * scale, for one row. */
KERNEL void NAME(norm_row)(const Sizes *s, const float *from, const float *scale, float *to)
{
    Vector squares = {0};
    int k = 0;
    for (; k < s->hidden; k += LANES) {
        Vector x = NAME(load)(from + k);
        squares = FUSED(x, x, squares);
    }
    Vector by = NAME(all)(1.0f / sqrtf(NAME(sum)(squares) / (float)s->hidden + s->epsilon));
    for (k = 0; k < s->hidden; k += LANES) NAME(store)(to + k, NAME(load)(scale + k) * (NAME(load)(from + k) * by));
}

KERNEL void NAME(norm_piece)(void *job, int piece, int thread)
{
    const Stage *t = job;
    const Sizes *s = &t->pass->model->sizes;
    int end = (piece + 1) * ROWS_PER_PIECE;
    (void)thread;
    for (int i = piece * ROWS_PER_PIECE; i < end && i < t->pass->n; i++)
        NAME(norm_row)(s, t->from + (size_t)i * s->hidden, t->scale, t->to + (size_t)i * s->hidden);
}

KERNEL void NAME(embed_piece)(void *job, int piece, int thread)
{
    const Stage *t = job;
    const Sizes *s = &t->pass->model->sizes;
    (void)thread;
    unpack_row(&t->pass->model->head, s, t->pass->tokens[piece], t->to + (size_t)piece * s->hidden);
}

/* Turn queries and keys by their position, scale queries for attention, put keys and values into the cache. */
KERNEL void NAME(place_piece)(void *job, int piece, int thread)
{
    const Stage *t = job;
    const Model *m = t->pass->model;
    const Sizes *s = &m->sizes;
    int half = s->head_size / 2, all = s->heads + 2 * s->kv_heads, end = (piece + 1) * ROWS_PER_PIECE;
    Vector scale = NAME(all)(1.0f / sqrtf((float)s->head_size));
    (void)thread;
    for (int i = piece * ROWS_PER_PIECE; i < end && i < t->pass->n; i++) {
        float *row = t->to + (size_t)i * all * s->head_size;
        const float *cosines = m->cosines + (size_t)t->pass->positions[i] * half;
        const float *sines = m->sines + (size_t)t->pass->positions[i] * half;
        for (int head = 0; head < s->heads + s->kv_heads; head++)
            for (int d = 0; d < half; d += LANES) {
                float *low = row + head * s->head_size + d, *high = low + half;
                Vector a = NAME(load)(low), b = NAME(load)(high);
                Vector c = NAME(load)(cosines + d), n = NAME(load)(sines + d);
                Vector x = a * c - b * n, y = b * c + a * n;
                NAME(store)(low, head < s->heads ? x * scale : x);
                NAME(store)(high, head < s->heads ? y * scale : y);
            }
        const Tree *tree = t->pass->trees + t->pass->tree[i];
        Entries *e = tree->entries;
        size_t entry = e->length + i - tree->first, place = entries_key_place(e, entry);
        for (int head = 0; head < s->kv_heads; head++) {
            const float *key = row + (s->heads + head) * s->head_size, *value = key + s->kv_heads * s->head_size;
            float *keys = entries_keys(e, t->layer, head) + place;
            for (int d = 0; d < s->head_size; d++) keys[(size_t)d * W] = key[d];
            memcpy(entries_values(e, t->layer, head) + entry * s->head_size, value, s->head_size * sizeof(float));
        }
    }
}

/* A projection of all rows, stored or added to what is there. */
KERNEL void NAME(project_piece)(void *job, int piece, int thread)
{
    const Stage *t = job;
    const Matrix *m = t->matrix;
    Operand operand = NAME(operand)(m, &t->pass->model->sizes);
    int first = piece * t->piece, count = m->panels - first < t->piece ? m->panels - first : t->piece;
    (void)thread;
    NAME(multiply)(&operand, first, count, 0, t->from, m->inputs, t->pass->n, t->to + first * W, m->outputs,
                   t->add);
}

/* silu(gate) * up, for pairs of panels. */
KERNEL void NAME(gate_piece)(void *job, int piece, int thread)
{
    const Stage *t = job;
    const Matrix *m = t->matrix;
    Operand operand = NAME(operand)(m, &t->pass->model->sizes);
    int mlp = m->outputs / 2, first = piece * t->piece, end = first + t->piece;
    if (end > m->panels / 2) end = m->panels / 2;
    float both[GROUP * 2 * W];
    (void)thread;
    for (int pair = first; pair < end; pair++)
        for (int from = 0; from < t->pass->n; from += GROUP) {
            int rows = t->pass->n - from < GROUP ? t->pass->n - from : GROUP;
            int after = from + rows < t->pass->n ? 0 : 2 * (end - pair - 1);
            NAME(multiply)(&operand, 2 * pair, 2, after, t->from + (size_t)from * m->inputs, m->inputs, rows, both,
                           2 * W, 0);
            for (int r = 0; r < rows; r++)
                for (int v = 0; v < W; v += LANES) {
                    Vector gate = NAME(load)(both + r * 2 * W + v), up = NAME(load)(both + r * 2 * W + W + v);
                    Vector one = NAME(all)(1.0f);
                    NAME(store)(t->to + (size_t)(from + r) * mlp + pair * W + v,
                                gate / (one + NAME(exp)((Vector){0} - gate)) * up);
                }
        }
}
