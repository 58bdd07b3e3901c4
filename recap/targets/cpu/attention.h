/* Attention of a few nodes over everything kept and their own ancestors. Included after layers.h.
 *
 * A node's scores are lined up by position, kept entries first and then its ancestors: exactly the line that plain
 * decoding would see at that place of the text. Largest, sum and weighted values run along the line in its order. */

/* exp(score - largest) in place, and the sum. The line is filled up with zeros to whole vectors. */
KERNEL float NAME(soften)(float *line, int length)
{
    int whole = (int)round_up(length, LANES);
    for (int j = length; j < whole; j++) line[j] = -INFINITY;
    Vector top = NAME(load)(line), sum = {0};
    for (int j = LANES; j < whole; j += LANES) {
        Vector x = NAME(load)(line + j);
        top = NAME(either)(x > top, x, top);
    }
    Vector largest = NAME(all)(NAME(largest)(top));
    for (int j = 0; j < whole; j += LANES) {
        Vector x = NAME(exp)(NAME(load)(line + j) - largest);
        NAME(store)(line + j, x);
        sum += x;
    }
    return NAME(sum)(sum);
}

/* sums[d] = fused(weight, value[d], sums[d]) for each ancestor, then everything over `total`. */
KERNEL void NAME(finish)(const Sizes *s, const float *weights, const int32_t *ancestors, int count, const float *values,
                         const float *sums, float total, float *to)
{
    for (int d = 0; d < s->head_size; d += W) {
        Vector low = NAME(load)(sums + d), high = NAME(load)(sums + d + LANES), all = NAME(all)(total);
        for (int j = 0; j < count; j++) {
            const float *value = values + (size_t)ancestors[j] * s->head_size + d;
            Vector weight = NAME(all)(weights[j]);
            low = FUSED(weight, NAME(load)(value), low);
            high = FUSED(weight, NAME(load)(value + LANES), high);
        }
        NAME(store)(to + d, low / all);
        NAME(store)(to + d + LANES, high / all);
    }
}

KERNEL void NAME(attend_piece)(void *job, int piece, int thread)
{
    const Stage *t = job;
    const Pass *p = t->pass;
    const Sizes *s = &p->model->sizes;
    const Scratch *scratch = &p->model->scratch;
    const Block *block = p->blocks + piece % p->block_count;
    const Tree *tree = p->trees + block->tree;
    const Entries *e = tree->entries;
    int size = s->head_size, group = s->heads / s->kv_heads, past = (int)e->length, head = piece / p->block_count;
    int first = block->first, nodes = block->n, rows = nodes * group;
    int panels = (past + first - tree->first + nodes + W - 1) / W, line = panels * W + LANES;
    float *queries = scratch->attention + thread * (scratch->attention_room / p->model->threads / 16 * 16);
    float *sums = queries + (size_t)rows * size, *scores = sums + (size_t)rows * size;
    const float *keys = entries_keys(e, t->layer, head), *values = entries_values(e, t->layer, head);

    for (int i = 0; i < nodes; i++)
        memcpy(queries + (size_t)i * group * size,
               t->from + ((size_t)(first + i) * (s->heads + 2 * s->kv_heads) + head * group) * size,
               (size_t)group * size * sizeof(float));
    Operand keys_operand = {(const char *)keys, (size_t)size * W * sizeof(float), W * sizeof(float), 1, size};
    NAME(multiply)(&keys_operand, 0, panels, 0, queries, size, rows, scores, line, 0);

    float totals[NODES * MAX_GROUP];
    for (int r = 0; r < rows; r++) {
        const int32_t *begin = scratch->first + first + r / group;
        float *row = scores + (size_t)r * line;
        int count = begin[1] - begin[0];
        for (int j = 0; j < count; j++) row[past + j] = row[past + scratch->ancestors[begin[0] + j]];
        totals[r] = NAME(soften)(row, past + count);
    }
    Operand values_operand = {(const char *)values, W * sizeof(float), (size_t)size * sizeof(float), 1, past};
    NAME(multiply)(&values_operand, 0, size / W, 0, scores, line, rows, sums, size, 0);
    for (int r = 0; r < rows; r++) {
        int node = first + r / group;
        const int32_t *begin = scratch->first + node;
        NAME(finish)(s, scores + (size_t)r * line + past, scratch->ancestors + begin[0], begin[1] - begin[0],
                     values + (size_t)past * size, sums + (size_t)r * size, totals[r],
                     t->to + ((size_t)node * s->heads + head * group + r % group) * size);
    }
}
