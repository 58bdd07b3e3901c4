/* A whole pass, and the vocabulary head. Included last, once per set of instructions. */

KERNEL void NAME(by_rows)(Stage *stage, Work work)
{
    pool_run(&stage->pass->model->pool, work, stage, (stage->pass->n + ROWS_PER_PIECE - 1) / ROWS_PER_PIECE);
}

KERNEL void NAME(norm)(Pass *pass, const float *from, const float *scale, float *to)
{
    Stage stage = {.pass = pass, .from = from, .scale = scale, .to = to};
    NAME(by_rows)(&stage, NAME(norm_piece));
}

KERNEL void NAME(by_panels)(Stage *stage, Work work, int count)
{
    Model *m = stage->pass->model;
    stage->piece = panels_per_piece(count, m->threads);
    pool_run(&m->pool, work, stage, (count + stage->piece - 1) / stage->piece);
}

KERNEL void NAME(project)(Pass *pass, const Matrix *matrix, const float *from, float *to, int add)
{
    Stage stage = {.pass = pass, .matrix = matrix, .from = from, .to = to, .add = add};
    NAME(by_panels)(&stage, NAME(project_piece), matrix->panels);
}

KERNEL void NAME(forward)(Pass *pass)
{
    Model *m = pass->model;
    Scratch *s = &m->scratch;
    Stage embed = {.pass = pass, .to = s->x};
    pool_run(&m->pool, NAME(embed_piece), &embed, pass->n);
    for (int i = 0; i < m->sizes.layers; i++) {
        const Layer *layer = m->layer + i;
        NAME(norm)(pass, s->x, layer->before, s->normed);
        NAME(project)(pass, &layer->qkv, s->normed, s->qkv, 0);
        Stage place = {.pass = pass, .to = s->qkv, .layer = i};
        NAME(by_rows)(&place, NAME(place_piece));
        Stage attend = {.pass = pass, .from = s->qkv, .to = s->attended, .layer = i};
        pool_run(&m->pool, NAME(attend_piece), &attend, m->sizes.kv_heads * pass->block_count);
        NAME(project)(pass, &layer->out, s->attended, s->x, 1);
        NAME(norm)(pass, s->x, layer->after, s->normed);
        Stage gate = {.pass = pass, .matrix = &layer->up, .from = s->normed, .to = s->act};
        NAME(by_panels)(&gate, NAME(gate_piece), layer->up.panels / 2);
        NAME(project)(pass, &layer->down, s->act, s->x, 1);
    }
    NAME(norm)(pass, s->x, m->norm, pass->hidden);
}

/* Note logits that belong to the best, and whether any is not finite. `valid` columns of a panel stand for a token. */
KERNEL int NAME(rank)(const float *panel, int32_t first, int valid, Candidate *best, int k)
{
    Integers odd = {0};
    for (int v = 0; v < W; v += LANES) {
        Vector x = NAME(load)(panel + v);
        odd |= (Integers)(x - x);
        if (!REACHES(x, best[k - 1].value)) continue;
        for (int lane = 0; lane < LANES && v + lane < valid; lane++)
            candidate_insert(best, k, (Candidate){first + v + lane, panel[v + lane]});
    }
    return NAME(any)(odd);
}

typedef struct {
    Reading *reading;
    int piece;
} NAME(Head);

KERNEL void NAME(head_piece)(void *job, int piece, int thread)
{
    const NAME(Head) *h = job;
    Reading *r = h->reading;
    Model *m = r->model;
    Operand operand = NAME(operand)(&m->head, &m->sizes);
    int first = piece * h->piece, hidden = m->sizes.hidden, vocabulary = m->sizes.vocabulary;
    int count = m->head.panels - first < h->piece ? m->head.panels - first : h->piece, odd = 0;
    float panel[GROUP * 4 * W];
    for (; count > 0; first += 4, count -= 4)
        for (int from = 0; from < r->n; from += GROUP) {
            int rows = r->n - from < GROUP ? r->n - from : GROUP, panels = count < 4 ? count : 4;
            int after = from + rows < r->n ? 0 : count - panels;
            NAME(multiply)(&operand, first, panels, after, r->hidden + (size_t)from * hidden, hidden, rows, panel,
                           4 * W, 0);
            for (int i = 0; i < rows; i++)
                for (int p = 0; p < panels; p++) {
                    int32_t id = (first + p) * W;
                    int valid = vocabulary - id < W ? vocabulary - id : W;
                    const float *at = panel + (i * 4 + p) * W;
                    size_t row = from + i;
                    if (r->logits)
                        memcpy(r->logits + row * vocabulary + id, at, valid * sizeof(float));
                    else
                        odd |= NAME(rank)(at, id, valid, m->scratch.best + (thread * (size_t)r->n + row) * r->k, r->k);
                }
        }
    if (odd) atomic_store(&r->broken, 1);
}

/* The best of all threads end up in the first one's places. */
KERNEL void NAME(read)(Reading *r)
{
    Model *m = r->model;
    size_t each = (size_t)r->n * r->k;
    NAME(Head) head = {r, panels_per_piece(m->head.panels, m->threads)};
    if (!r->logits)
        for (size_t i = 0; i < m->threads * each; i++) m->scratch.best[i] = (Candidate){INT32_MAX, -INFINITY};
    pool_run(&m->pool, NAME(head_piece), &head, (m->head.panels + head.piece - 1) / head.piece);
    for (int thread = 1; thread < m->threads && !r->logits; thread++)
        for (int row = 0; row < r->n; row++)
            for (int j = 0; j < r->k; j++)
                candidate_insert(m->scratch.best + (size_t)row * r->k, r->k,
                                 m->scratch.best[thread * each + (size_t)row * r->k + j]);
}

static const struct Instructions NAME(instructions) = {INSTRUCTIONS, W, NAME(forward), NAME(read)};
