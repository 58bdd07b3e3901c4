/* Weights from the order of a checkpoint, (outputs, inputs), into panels. */
#ifndef RECAP_PACK_H
#define RECAP_PACK_H

#include "model.h"

/* Rows of one checkpoint matrix and the panels of `matrix` that they go to: first, first + step, first + 2 step, ... */
typedef struct {
    const Matrix *matrix;
    const void *source; /* bfloat16 or float32, as source_wide says */
    const Sizes *sizes;
    int rows, source_wide, first, step;
} Packing;

static float widened(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Two outputs share a word of bfloat16 panels: the first vector's in the low half, the second's in the high half, so
 * that a shift and a mask make two vectors of float32 out of one read. */
static size_t bfloat16_place(int lane, int width)
{
    int half = width / 2;
    return lane < half ? 2 * (size_t)lane : 2 * (size_t)(lane - half) + 1;
}

static void pack_panel(void *job, int piece, int thread)
{
    const Packing *p = job;
    const Matrix *m = p->matrix;
    int width = p->sizes->width, from = piece * width;
    char *panel = m->data + (size_t)(p->first + piece * p->step) * m->panel_bytes;
    (void)thread;
    for (int lane = 0; lane < width && from + lane < p->rows; lane++) {
        size_t row = (size_t)(from + lane) * m->inputs, place = bfloat16_place(lane, width);
        const uint16_t *halves = (const uint16_t *)p->source + row;
        const float *floats = (const float *)p->source + row;
        if (!p->sizes->wide)
            for (int k = 0; k < m->inputs; k++) ((uint16_t *)panel)[(size_t)k * width + place] = halves[k];
        else if (p->source_wide)
            for (int k = 0; k < m->inputs; k++) ((float *)panel)[(size_t)k * width + lane] = floats[k];
        else
            for (int k = 0; k < m->inputs; k++) ((float *)panel)[(size_t)k * width + lane] = widened(halves[k]);
    }
}

static void pack(Model *model, const Matrix *matrix, const void *source, int source_wide, int rows, int first, int step)
{
    Packing packing = {matrix, source, &model->sizes, rows, source_wide, first, step};
    pool_run(&model->pool, pack_panel, &packing, (rows + model->sizes.width - 1) / model->sizes.width);
}

/* One row of a packed matrix, (inputs,). */
static void unpack_row(const Matrix *m, const Sizes *s, int32_t row, float *to)
{
    int lane = row % s->width;
    const char *panel = m->data + (size_t)(row / s->width) * m->panel_bytes;
    if (s->wide)
        for (int k = 0; k < m->inputs; k++) to[k] = ((const float *)panel)[(size_t)k * s->width + lane];
    else
        for (int k = 0; k < m->inputs; k++)
            to[k] = widened(((const uint16_t *)panel)[(size_t)k * s->width + bfloat16_place(lane, s->width)]);
}

#endif
