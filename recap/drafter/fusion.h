/* Fusing the rows found for one context (paper, section 3.4). */
#ifndef RECAP_FUSION_H
#define RECAP_FUSION_H

#include "prediction.h"

enum { SOURCE_G, SOURCE_C, SOURCE_U, SOURCES };
enum { FUSE_ENTROPY, FUSE_PRIOR, FUSE_CONFIDENCE, FUSE_UNIFORM, FUSE_GATE, FUSE_BACKOFF };

/* The last three tokens of a context, oldest first; -1 where the context is shorter. */
typedef struct {
    int32_t token[3];
} Context;

static inline Context context_extend(Context c, int32_t token)
{
    return (Context){{c.token[1], c.token[2], token}};
}

typedef struct {
    int32_t id;
    double mass;           /* m(z), equation 5 */
    double parts[SOURCES]; /* w_j P_j(z), which add up to the mass */
} Candidate;

typedef struct {
    int count;               /* candidates: K, or 0 when no row was found */
    double total;            /* of the masses kept: q(z) = mass / total, equation 6 */
    double weights[SOURCES]; /* 0 where no row was found or the rule left it out */
    const Word *rows[SOURCES];
    int order[MAX_TOP_K]; /* candidates by (-mass, id) */
    Candidate candidates[SOURCES * MAX_TOP_K];
} Fused;

typedef struct {
    int rule;
    double priors[3];
} FusionSettings;

static void find_rows(const Memory *memories, int kept, const Context *context, const Word **rows)
{
    for (int s = 0; s < SOURCES; s++) {
        const int32_t *key = context->token + s;
        rows[s] = s >= SOURCES - kept && *key >= 0 ? memory_find(memories + s, key) : NULL;
    }
}

/* Raw weights in the order G, C, U; then normalised. Priors go by rank among the rows found. */
static void fusion_weights(const Memory *memories, const FusionSettings *settings, Fused *f)
{
    int rank = 0, chosen = -1;
    double sum = 0.0, best = -1.0;
    for (int s = 0; s < SOURCES; s++) {
        f->weights[s] = 0.0;
        if (!f->rows[s]) continue;
        double confidence = row_confidence(memories + s, f->rows[s]), prior = settings->priors[rank++], weight = 1.0;
        switch (settings->rule) {
        case FUSE_ENTROPY: weight = prior * confidence; break;
        case FUSE_PRIOR: weight = prior; break;
        case FUSE_CONFIDENCE: weight = confidence; break;
        case FUSE_GATE:
            weight = 0.0;
            if (confidence > best) best = confidence, chosen = s;
            break;
        case FUSE_BACKOFF:
            weight = 0.0;
            if (chosen < 0) chosen = s;
            break;
        default: break;
        }
        f->weights[s] = weight;
        sum += weight;
    }
    if (chosen >= 0) f->weights[chosen] = sum = 1.0;
    for (int s = 0; s < SOURCES; s++)
        if (f->rows[s]) f->weights[s] /= sum;
}

/* Candidates of `f` from its weights and up to three rows (`rows[s]`: K ids, then K probabilities; NULL for none). */
static void mix(Fused *f, const Word *const *rows, int top_k)
{
    int found = 0;
    int32_t ids[SOURCES * MAX_TOP_K];
    f->count = 0;
    f->total = 0.0;
    for (int s = 0; s < SOURCES; s++) {
        double weight = f->weights[s];
        if (!rows[s] || weight == 0.0) continue;
        const Word *row = rows[s], *probs = row + top_k;
        int before = found;
        for (int i = 0; i < top_k; i++) {
            int at = 0;
            while (at < before && ids[at] != row[i].id) at++;
            if (at == before) {
                at = found++;
                ids[at] = row[i].id;
                f->candidates[at] = (Candidate){row[i].id, 0.0, {0.0, 0.0, 0.0}};
            }
            Candidate *candidate = f->candidates + at;
            candidate->parts[s] = weight * (double)probs[i].number;
            candidate->mass += candidate->parts[s];
        }
    }
    for (int i = 0; i < found; i++) {
        const Candidate *new = f->candidates + i;
        int at = f->count < top_k ? f->count++ : top_k;
        for (; at > 0; at--) {
            const Candidate *old = f->candidates + f->order[at - 1];
            if (old->mass > new->mass || (old->mass == new->mass && old->id < new->id)) break;
            if (at < top_k) f->order[at] = f->order[at - 1];
        }
        if (at < top_k) f->order[at] = i;
    }
    for (int i = 0; i < f->count; i++) f->total += f->candidates[f->order[i]].mass;
}

/* Fill `f` for a context. `f->count` is 0 when no memory holds a row for it. */
static void fuse(const Memory *memories, int kept, const FusionSettings *settings, const Context *context, Fused *f)
{
    const Word *rows[SOURCES];
    find_rows(memories, kept, context, f->rows);
    fusion_weights(memories, settings, f);
    for (int s = 0; s < SOURCES; s++) rows[s] = f->rows[s] ? row_ids(memories + s, f->rows[s]) : NULL;
    mix(f, rows, memories[SOURCE_U].top_k);
}

/* The same from up to three predictions that no memory holds: priors by rank, without confidence (appendix H). They are
 * nobody's rows, so that neither weights nor shares are told of them. */
static void fuse_spare(const FusionSettings *settings, const Word *predictions, int count, int top_k, Fused *f)
{
    const Word *rows[SOURCES];
    double sum = 0.0;
    for (int s = 0; s < SOURCES; s++) {
        f->weights[s] = s < count ? settings->priors[s] : 0.0;
        f->rows[s] = NULL;
        rows[s] = s < count ? predictions + (size_t)s * prediction_words(top_k) + 1 : NULL;
        sum += f->weights[s];
    }
    for (int s = 0; s < count; s++) f->weights[s] /= sum;
    mix(f, rows, top_k);
    memset(f->weights, 0, sizeof f->weights);
    for (int i = 0; i < f->count; i++) memset(f->candidates[f->order[i]].parts, 0, sizeof f->candidates->parts);
}

static inline double fused_probability(const Fused *f, int rank)
{
    return f->candidates[f->order[rank]].mass / f->total;
}

#endif
