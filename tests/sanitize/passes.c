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

static int run(Model *m, Entries *e, int n, const int32_t *tokens, const int32_t *parents, float *hidden,
               Candidate *best)
{
    int32_t positions[64], count = 0;
    if (scratch_rows(m, n) || scratch_attention(m, e->length + n) || entries_reserve(e, e->length + n)) return -1;
    for (int i = 0; i < n; i++) {
        int32_t line[64], length = 0;
        for (int32_t at = i; at >= 0; at = parents[at]) line[length++] = at;
        m->scratch.first[i] = count;
        positions[i] = (int32_t)e->length + length - 1;
        while (length) m->scratch.ancestors[count++] = line[--length];
    }
    m->scratch.first[n] = count;
    Pass pass = {m, e, n, tokens, positions, hidden};
    m->instructions->forward(&pass);
    Reading reading = {.model = m, .n = n, .k = 5, .hidden = hidden};
    if (scratch_best(m, n, 5)) return -1;
    m->instructions->read(&reading);
    memcpy(best, m->scratch.best, n * 5 * sizeof *best);
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
        Entries e, f;
        if (make(&one, instructions, kind % 2, 1, 7) || make(&many, instructions, kind % 2, 4, 7)) return 1;
        entries_init(&e, &one.sizes);
        entries_init(&f, &many.sizes);
        state = kind + 1;
        for (int tree = 0; tree < 12; tree++, trees++) {
            int32_t tokens[64], parents[64], root = -1;
            int n = 1 + draw(64);
            for (int i = 0; i < n; i++) {
                tokens[i] = draw(300);
                parents[i] = i ? (int32_t)draw(i) : -1;
            }
            if (run(&one, &e, n, tokens, parents, together, best) || run(&many, &f, n, tokens, parents, shared, other))
                return 2;
            if (memcmp(together, shared, n * 64 * sizeof(float)) || memcmp(best, other, n * 5 * sizeof *best)) return 3;
            int32_t line[64], length = 0;
            size_t base = f.length;
            for (int32_t at = n - 1; at >= 0; at = parents[at]) line[length++] = at;
            while (length--) {
                if (run(&one, &e, 1, tokens + line[length], &root, alone, other)) return 2;
                if (memcmp(alone, together + line[length] * 64, sizeof alone)) return 4;
                if (memcmp(other, best + line[length] * 5, 5 * sizeof *other)) return 5;
                if (base + line[length] != f.length) entries_move(&f, base + line[length], f.length);
                e.length++, f.length++;
            }
        }
        entries_free(&e);
        entries_free(&f);
        pool_stop(&one.pool);
        pool_stop(&many.pool);
        model_free(&one);
        model_free(&many);
    }
    printf("%d trees\n", trees);
    return 0;
}
