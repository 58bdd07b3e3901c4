/* The passes without Python, for the leak and the thread sanitizer: random trees on one thread and on several, a path of
 * each also decoded token by token. Prints "N trees" when every bit agrees. */
#include <stdio.h>

#include "instructions.h"

static uint64_t state = 1;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static void fill_floats(float *to, size_t count, float middle)
{
    for (size_t i = 0; i < count; i++) to[i] = middle + (float)draw(2001) / 8000.0f - 0.125f;
}

static int fill_matrix(Model *model, const Matrix *m, int wide)
{
    size_t count = (size_t)m->outputs * m->inputs;
    float *floats = malloc(count * sizeof *floats);
    uint16_t *halves = (uint16_t *)floats;
    if (!floats) return -1;
    if (wide) fill_floats(floats, count, 0.0f);
    for (size_t i = 0; i < count && !wide; i++) halves[i] = (uint16_t)(0x3c00 + draw(500) + 0x8000 * draw(2));
    pack(model, m, floats, wide, m->outputs, 0, 1);
    free(floats);
    return 0;
}

static int make(Model *m, const struct Instructions *instructions, int wide, int threads, uint64_t seed)
{
    Sizes s = {2, 64, 4, 2, 32, 96, 300, 256, wide, instructions->width, 1e-5f};
    memset(m, 0, sizeof *m);
    m->instructions = instructions;
    m->threads = threads;
    pool_start(&m->pool, threads);
    if (model_make(m, &s)) return -1;
    state = seed;
    for (int i = 0; i < s.layers; i++) {
        Layer *l = m->layer + i;
        const Matrix *all[] = {&l->qkv, &l->out, &l->up, &l->down};
        for (int j = 0; j < 4; j++)
            if (fill_matrix(m, all[j], wide)) return -1;
        fill_floats(l->before, s.hidden, 1.0f);
        fill_floats(l->after, s.hidden, 1.0f);
    }
    if (fill_matrix(m, &m->head, wide)) return -1;
    fill_floats(m->norm, s.hidden, 1.0f);
    fill_floats(m->cosines, (size_t)s.positions * s.head_size / 2, 0.7f);
    fill_floats(m->sines, (size_t)s.positions * s.head_size / 2, 0.7f);
    return 0;
}

/* A tree behind e, and beside it in the same pass, if there is a second cache, one node behind that. */
static int run(Model *m, Entries *e, Entries *beside, int n, const int32_t *tokens, const int32_t *parents,
               float *hidden, Candidate *best)
{
    int32_t ids[65] = {5}, positions[65], of[65], count = 0;
    Block blocks[65];
    int first = beside != NULL, blocks_in_all = 0, all = first + n;
    Tree trees[] = {{beside, 0, 1}, {e, first, n}}, *asked = trees + !first;
    size_t longest = e->length + n;
    if (first && beside->length + 1 > longest) longest = beside->length + 1;
    if (scratch_rows(m, all) || scratch_attention(m, longest) || entries_reserve(e, e->length + n)) return -1;
    if (first) {
        if (entries_reserve(beside, beside->length + 1)) return -1;
        m->scratch.first[0] = 0;
        m->scratch.ancestors[count++] = 0;
        positions[0] = (int32_t)beside->length;
    }
    for (int i = 0; i < n; i++) {
        int32_t line[64], length = 0;
        for (int32_t at = i; at >= 0; at = parents[at]) line[length++] = at;
        m->scratch.first[first + i] = count;
        ids[first + i] = tokens[i];
        positions[first + i] = (int32_t)e->length + length - 1;
        while (length) m->scratch.ancestors[count++] = line[--length];
    }
    m->scratch.first[all] = count;
    for (int at = 0; at <= first; at++) blocks_in_all = tree_divide(asked + at, at, of, blocks, blocks_in_all);
    static float rows[65 * 64];
    Pass pass = {.model = m, .trees = asked, .blocks = blocks, .n = all, .block_count = blocks_in_all, .tokens = ids,
                 .positions = positions, .tree = of, .hidden = rows};
    m->instructions->forward(&pass);
    Reading reading = {.model = m, .n = all, .k = 5, .hidden = rows};
    if (scratch_best(m, all, 5)) return -1;
    m->instructions->read(&reading);
    memcpy(hidden, rows + first * 64, n * 64 * sizeof *hidden);
    memcpy(best, m->scratch.best + first * 5, n * 5 * sizeof *best);
    if (first && beside->length < 600) beside->length++;
    return reading.broken ? -1 : 0;
}

int main(void)
{
    static float together[64 * 64], alone[64], shared[64 * 64];
    static Candidate best[64 * 5], other[64 * 5];
    const char *names[] = {"portable", ""};
    int trees = 0;
    for (int kind = 0; kind < 4; kind++) {
        const struct Instructions *instructions = instructions_find(names[kind / 2]);
        Model one, many;
        Entries e, f, other_answer;
        if (make(&one, instructions, kind % 2, 1, 7) || make(&many, instructions, kind % 2, 4, 7)) return 1;
        entries_init(&e, &one.sizes);
        entries_init(&f, &many.sizes);
        entries_init(&other_answer, &many.sizes);
        state = kind + 1;
        for (int tree = 0; tree < 12; tree++, trees++) {
            int32_t tokens[64], parents[64], root = -1;
            int n = 1 + draw(64);
            for (int i = 0; i < n; i++) {
                tokens[i] = draw(300);
                parents[i] = i ? (int32_t)draw(i) : -1;
            }
            if (run(&one, &e, NULL, n, tokens, parents, together, best) ||
                run(&many, &f, &other_answer, n, tokens, parents, shared, other))
                return 2;
            if (memcmp(together, shared, n * 64 * sizeof(float)) || memcmp(best, other, n * 5 * sizeof *best)) return 3;
            int32_t line[64], length = 0;
            size_t base = f.length;
            for (int32_t at = n - 1; at >= 0; at = parents[at]) line[length++] = at;
            while (length--) {
                if (run(&one, &e, NULL, 1, tokens + line[length], &root, alone, other)) return 2;
                if (memcmp(alone, together + line[length] * 64, sizeof alone)) return 4;
                if (memcmp(other, best + line[length] * 5, 5 * sizeof *other)) return 5;
                if (base + line[length] != f.length) entries_move(&f, base + line[length], f.length);
                e.length++, f.length++;
            }
        }
        entries_free(&e);
        entries_free(&f);
        entries_free(&other_answer);
        pool_stop(&one.pool);
        pool_stop(&many.pool);
        model_free(&one);
        model_free(&many);
    }
    printf("%d trees\n", trees);
    return 0;
}
