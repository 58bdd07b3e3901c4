/* A target prediction becomes a row (paper, equations 2 and 4): ids by (-logit, id), softmax, exp(-entropy). */
#ifndef RECAP_PREDICTION_H
#define RECAP_PREDICTION_H

#include <math.h>
#include <string.h>

#include "rows.h"

#define MAX_TOP_K 64

/* A prediction is a row without its key: 1 + 2 K words. */
static inline size_t prediction_words(int top_k) { return 1 + 2 * (size_t)top_k; }

typedef enum { PREDICTION_OK, ID_RANGE, ID_TWICE, LOGIT_NOT_FINITE } PredictionError;

static float confidence_of(const Word *probs, int top_k)
{
    double negative_entropy = 0.0;
    for (int i = 0; i < top_k; i++) {
        double p = probs[i].number;
        if (p > 0.0) negative_entropy += p * log(p);
    }
    return (float)exp(negative_entropy);
}

/* Whether all ids differ. A bit set of their low bits settles most ids without comparing pairs. */
static int all_differ(const Word *ids, int top_k)
{
    uint64_t seen[4] = {0, 0, 0, 0};
    for (int i = 0; i < top_k; i++) {
        uint64_t bit = UINT64_C(1) << (ids[i].id & 63), *word = seen + (ids[i].id >> 6 & 3);
        if (*word & bit)
            for (int j = 0; j < i; j++)
                if (ids[j].id == ids[i].id) return 0;
        *word |= bit;
    }
    return 1;
}

static PredictionError prediction_make(Word *out, const int64_t *ids, const float *logits, int top_k)
{
    Word *out_ids = out + 1, *out_probs = out + 1 + top_k;
    float sorted[MAX_TOP_K];
    double weights[MAX_TOP_K], total = 0.0;
    for (int i = 0; i < top_k; i++) {
        if (ids[i] < 0 || ids[i] > INT32_MAX) return ID_RANGE;
        float logit = logits[i];
        if (!isfinite(logit)) return LOGIT_NOT_FINITE;
        int32_t id = (int32_t)ids[i];
        int at = i;
        for (; at > 0 && (sorted[at - 1] < logit || (sorted[at - 1] == logit && out_ids[at - 1].id > id)); at--) {
            sorted[at] = sorted[at - 1];
            out_ids[at] = out_ids[at - 1];
        }
        sorted[at] = logit;
        out_ids[at].id = id;
    }
    if (!all_differ(out_ids, top_k)) return ID_TWICE;
    for (int i = 0; i < top_k; i++) {
        weights[i] = exp((double)sorted[i] - (double)sorted[0]);
        total += weights[i];
    }
    for (int i = 0; i < top_k; i++) out_probs[i].number = (float)(weights[i] / total);
    out->number = confidence_of(out_probs, top_k);
    return PREDICTION_OK;
}

/* Store under the key, replacing what was there. Returns the row's number, -1 when memory ran out. */
static int64_t memory_store(Memory *m, const int32_t *key, const Word *prediction)
{
    int64_t index = memory_claim(m, key);
    if (index < 0) return -1;
    memcpy(memory_row(m, (uint32_t)index) + m->order, prediction, prediction_words(m->top_k) * sizeof *prediction);
    return index;
}

#endif
