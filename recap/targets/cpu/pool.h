/* A few threads that share the pieces of one job at a time.
 *
 * A job is cut into pieces; whoever is free takes the next one, so a thread that the system holds up costs no more than
 * its own piece. The caller works too and could do everything alone: nothing hangs when the others are late or gone
 * (after a fork, for instance). */
#ifndef RECAP_POOL_H
#define RECAP_POOL_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#define MAX_THREADS 64
#define SPINS 2000 /* some tens of microseconds: longer than the pauses inside a pass */

typedef void (*Work)(void *job, int piece, int thread);

typedef struct Pool Pool;

typedef struct {
    Pool *pool;
    int number;
    pthread_t thread;
} Worker;

struct Pool {
    _Atomic uint64_t state; /* number of the job << 32 | pieces nobody has taken yet */
    _Atomic int finished, sleeping, closing;
    Work work;
    void *job;
    int pieces, started; /* started: threads beside the caller */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    Worker workers[MAX_THREADS];
};

static inline void pool_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static uint32_t pool_number(uint64_t state) { return (uint32_t)(state >> 32); }

/* Take pieces of this job until none is left. What belongs to the job may be read once a piece is taken: the job cannot
 * end before that piece has. */
static void pool_take(Pool *pool, uint32_t number, int thread)
{
    uint64_t state = atomic_load_explicit(&pool->state, memory_order_acquire);
    while (pool_number(state) == number && (uint32_t)state) {
        if (!atomic_compare_exchange_weak_explicit(&pool->state, &state, state - 1, memory_order_acq_rel,
                                                   memory_order_acquire))
            continue;
        pool->work(pool->job, pool->pieces - (int)(uint32_t)state, thread);
        atomic_fetch_add_explicit(&pool->finished, 1, memory_order_release);
        state = atomic_load_explicit(&pool->state, memory_order_acquire);
    }
}

static int pool_idle(Pool *pool, uint32_t seen)
{
    return pool_number(atomic_load(&pool->state)) == seen && !atomic_load(&pool->closing);
}

static void *pool_worker(void *argument)
{
    Worker *self = argument;
    Pool *pool = self->pool;
    uint32_t seen = 0;
    for (;;) {
        for (int spin = 0; spin < SPINS && pool_idle(pool, seen); spin++) pool_pause();
        if (pool_idle(pool, seen)) {
            pthread_mutex_lock(&pool->lock);
            atomic_fetch_add(&pool->sleeping, 1);
            while (pool_idle(pool, seen)) pthread_cond_wait(&pool->wake, &pool->lock);
            atomic_fetch_sub(&pool->sleeping, 1);
            pthread_mutex_unlock(&pool->lock);
        }
        if (atomic_load(&pool->closing)) return NULL;
        seen = pool_number(atomic_load(&pool->state));
        pool_take(pool, seen, self->number);
    }
}

/* Do every piece of a job and return when all are done. One caller at a time. */
static void pool_run(Pool *pool, Work work, void *job, int pieces)
{
    if (pieces <= 1 || !pool->started) {
        for (int piece = 0; piece < pieces; piece++) work(job, piece, 0);
        return;
    }
    uint32_t number = pool_number(atomic_load_explicit(&pool->state, memory_order_relaxed)) + 1;
    pool->work = work;
    pool->job = job;
    pool->pieces = pieces;
    atomic_store_explicit(&pool->finished, 0, memory_order_relaxed);
    atomic_store(&pool->state, (uint64_t)number << 32 | (uint32_t)pieces);
    if (atomic_load(&pool->sleeping)) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->lock);
    }
    pool_take(pool, number, 0);
    for (int spin = 0; atomic_load_explicit(&pool->finished, memory_order_acquire) != pieces; spin++) {
        if (spin < SPINS)
            pool_pause();
        else
            sched_yield();
    }
}

/* Threads in all, the caller counted. Fewer are no failure: the caller can do everything. */
static void pool_start(Pool *pool, int threads)
{
    sigset_t all, before;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    sigfillset(&all); /* signals belong to the interpreter's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int number = 1; number < threads && number < MAX_THREADS; number++) {
        Worker *worker = pool->workers + number;
        worker->pool = pool;
        worker->number = number;
        if (pthread_create(&worker->thread, NULL, pool_worker, worker)) break;
        pool->started = number;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void pool_stop(Pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->closing, 1);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int number = 1; number <= pool->started; number++) pthread_join(pool->workers[number].thread, NULL);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->wake);
}

#endif
