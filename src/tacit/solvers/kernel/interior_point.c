/* Where the interior point starts, when it looks at the gap, and what it keeps. */
#include "kernel.h"

#include <math.h>
#include <string.h>

#define MAX_STEPS 120
#define LOOK_EVERY 8 /* steps between two looks at the gap while it is far from closed */
#define PATIENCE 30  /* looks without a better gap after which the search is given up */

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* -- start ----------------------------------------------------------------------------------- */

/* A release that leaks nothing with some greed added: exp(-3 regret), as far as limits allow. */
static void mix_in_greed(const Solver *k, double greed, double *c)
{
    const int n_x = k->p.n_x, n_rhat = k->p.n_rhat;
    for (int z = 0; z < k->p.n_z; z++)
        for (int x = 0; x < n_x; x++) {
            const double *cost = k->p.cost + (size_t)z * k->n_block + x;
            double *own = c + (size_t)z * k->n_block + x, least = INFINITY, sum = 0;
            for (int rhat = 0; rhat < n_rhat; rhat++)
                least = fmin(least, cost[rhat * n_x]);
            for (int rhat = 0; rhat < n_rhat; rhat++)
                sum += own[rhat * n_x] = exp(-3 * (cost[rhat * n_x] - least));
            for (int rhat = 0; rhat < n_rhat; rhat++)
                own[rhat * n_x] = 1.0 / n_rhat + greed * (own[rhat * n_x] / sum - 1.0 / n_rhat);
        }
}

static bool is_well_inside(const Solver *k, const Iterate *it)
{
    for (int i = 0; i < k->n_limits; i++)
        if (k->is_limited[i] && it->leakage[i] > 0.7 * k->budget[i])
            return false;
    return true;
}

/* Multipliers of exact full collusion that make the cost constant in x. */
static void level(const Solver *k, Iterate *it)
{
    for (int z = 0; z < k->p.n_z; z++)
        for (int rhat = 0; rhat < k->p.n_rhat; rhat++) {
            const size_t at = (size_t)z * k->n_block + rhat * k->p.n_x;
            double average = 0;
            for (int x = 0; x < k->p.n_x; x++)
                average += k->p.mass[(size_t)z * k->p.n_x + x] * k->p.cost[at + x];
            for (int x = 0; x < k->p.n_x; x++)
                it->full_force[at + x] = average / k->mass_z[z] - k->p.cost[at + x];
        }
}

static void start(Solver *k)
{
    Iterate *it = &k->now;
    double greed = k->is_full_exact || k->is_any_exact_row ? 0 : 0.3;
    for (int halvings = 0; halvings < 60; halvings++, greed *= 0.5) {
        mix_in_greed(k, greed, it->c);
        measure(k, it);
        if (is_well_inside(k, it))
            break;
    }
    for (int i = 0; i < k->n_cells; i++)
        it->s[i] = 0.3 / k->p.n_rhat / it->c[i];
    for (int i = 0; i < k->n_limits; i++) {
        const double budget = k->budget[i];
        it->multiplier[i] = k->is_limited[i] ? fmax(0.3 / budget, 0.1) : 0;
        it->slack[i] = k->is_limited[i] ? fmax(budget - it->leakage[i], 0.1 * budget) : 1;
    }
    if (k->is_full_exact)
        level(k, it);
    settle(k, it);
}

/* -- looks ----------------------------------------------------------------------------------- */

typedef struct {
    double value, bound; /* the best so far, of E cost plus what is priced */
    double frugal;       /* the least leakage gap so far, once frugal */
    int idle;            /* looks without any gain */
    bool is_frugal;      /* whether the gap is closed and the leakage is being lowered */
} Progress;

/* Weight of the channel in a feasible mixture with a constant release (convexity; no search). */
static double feasible_share(const Solver *k, const Iterate *it)
{
    double share = 1;
    for (int i = 0; i < k->n_limits; i++)
        if (k->is_limited[i] && it->leakage[i] > k->budget[i])
            share = fmin(share, k->budget[i] / it->leakage[i]);
    return share;
}

/* Value and bound of the present iterate, and how far its leakage to everyone is from the least. */
static void assess(const Solver *k, double *value, double *bound, double *frugal)
{
    const Problem *p = &k->p;
    const Iterate *it = &k->now;
    /* Ten times, because the forces are still growing while the constraints are off. */
    double spent = 10 * exact_error(k, it), paid = 0;
    for (int z = 0; z < p->n_z; z++)
        for (int rhat = 0; rhat < p->n_rhat; rhat++)
            for (int x = 0; x < p->n_x; x++) {
                const size_t i = (size_t)z * k->n_block + rhat * p->n_x + x;
                spent += p->mass[(size_t)z * p->n_x + x] * p->cost[i] * it->c[i];
            }
    for (int i = 0; i < k->n_limits; i++) {
        spent += p->price[i] * it->leakage[i];
        paid += k->is_limited[i] ? it->multiplier[i] * k->budget[i] : 0;
    }
    const double share = feasible_share(k, it), dual = dual_value(k, it) - paid;
    *value = share * spent + (1 - share) * k->least_constant;
    *frugal = (*value - dual) / k->frugality + share * it->leakage[p->n_views];
    /* Whatever the channel, I(Rhat; X | Z) is at most log |Rhat|. */
    const bool is_limited = k->is_limited[p->n_views];
    const double at_most = is_limited ? k->budget[p->n_views] : log(p->n_rhat);
    *bound = k->is_full_exact ? dual : dual - k->frugality * at_most;
}

static void keep_proof(const Solver *k, Outcome *outcome)
{
    const Iterate *it = &k->now;
    memcpy(outcome->witness, it->c, sizeof(double) * k->n_cells);
    for (int i = 0; i < k->n_limits; i++)
        outcome->multiplier[i] = it->multiplier[i] + k->p.price[i];
    memcpy(outcome->row_force, it->row_force, sizeof(double) * k->n_row_cells);
    if (k->is_full_exact)
        memcpy(outcome->full_force, it->full_force, sizeof(double) * k->n_cells);
    outcome->frugality = k->frugality;
}

static void keep_channel(const Solver *k, Outcome *outcome, int step)
{
    const Iterate *it = &k->now;
    memcpy(outcome->channel, it->c, sizeof(double) * k->n_cells);
    for (int i = 0; i < k->n_cells; i++)
        outcome->is_zero[i] = it->c[i] < 1e-6 && it->c[i] < 1e-3 * it->s[i];
    outcome->steps = step;
}

/* Keep the channel and the proof where they are the best so far. Before the gap is closed the best
 * channel has the least value; after, the least leakage to everyone among those whose value stays
 * within the gap. */
static void look(const Solver *k, Progress *so_far, Outcome *outcome, int step)
{
    double value, bound, frugal;
    assess(k, &value, &bound, &frugal);
    const bool is_tighter = isfinite(bound) && bound > so_far->bound;
    if (is_tighter) {
        keep_proof(k, outcome);
        outcome->bound = so_far->bound = bound;
    }
    bool is_better = value < so_far->value;
    if (so_far->is_frugal)
        is_better = frugal < so_far->frugal && value - so_far->bound <= k->p.gap_tol;
    if (is_better) {
        keep_channel(k, outcome, step);
        so_far->value = value;
        if (so_far->is_frugal)
            so_far->frugal = frugal;
    }
    const bool is_gain = is_better || (is_tighter && !so_far->is_frugal);
    so_far->idle = is_gain ? 0 : so_far->idle + 1;
    outcome->waste = so_far->is_frugal ? so_far->frugal : 0;
}

/* Whether the gap may be about to close. */
static bool is_near(const Solver *k)
{
    return complementarity(k, &k->now, NULL, 0) <= 1e4 * k->p.gap_tol * k->n_pairs;
}

/* Whether full collusion does not bind, so that the channel may leak more than it need. */
static bool leaks_for_nothing(const Solver *k)
{
    const int full = k->p.n_views;
    const double weight = k->now.multiplier[full] + k->p.price[full];
    return !k->is_full_exact && weight <= 1e3 * k->frugality &&
           k->now.leakage[full] > k->p.frugal_tol;
}

/* Spend what is left of gap_tol on leaking less: at most weight * I can be lost. */
static void turn_frugal(Solver *k)
{
    const double affordable = k->p.gap_tol / (4 * fmax(k->now.leakage[k->p.n_views], 1e-6));
    k->frugality = fmin(fmax(affordable, k->frugality), 1e2 * k->frugality);
    settle(k, &k->now);
}

/* What a caller with other headers can find out before it calls anything else. */
EXPORT int tacit_abi(void)
{
    return TACIT_ABI;
}

EXPORT size_t tacit_problem_bytes(void)
{
    return sizeof(Problem);
}

EXPORT size_t tacit_outcome_bytes(void)
{
    return sizeof(Outcome);
}

/* Mehrotra's method, stopping on the gap ([M] fact 2), never on a small step. */
static void search(Solver *k, Outcome *outcome)
{
    const Problem *problem = &k->p;
    Progress so_far = {INFINITY, -INFINITY, INFINITY, 0, false};
    start(k);
    keep_channel(k, outcome, 0);
    keep_proof(k, outcome);
    outcome->bound = -INFINITY;
    for (int step = 0;; step++) {
        if (step % LOOK_EVERY == 0 || is_near(k))
            look(k, &so_far, outcome, step);
        const bool is_closed = so_far.value - so_far.bound <= problem->gap_tol;
        if (is_closed && !so_far.is_frugal && leaks_for_nothing(k)) {
            turn_frugal(k);
            so_far.is_frugal = true;
        } else if (is_closed && !(so_far.is_frugal && so_far.frugal > problem->frugal_tol))
            break;
        if (step == MAX_STEPS || so_far.idle > PATIENCE || !advance(k))
            break;
    }
}

/* Returns whether there was memory. The caller holds Python's lock; where a signal's handler has
 * raised, the exception is set on return and the outcome means nothing. */
EXPORT bool tacit_minimise(const Lapack *lapack, const Interpreter *interpreter,
                           const Problem *problem, Outcome *outcome)
{
    Solver k;
    Watch watch;
    if (!open_solver(&k, problem, lapack, &watch))
        return false;
    start_watch(&watch, interpreter);
    if (!setjmp(watch.stopped))
        search(&k, outcome);
    end_watch(&watch);
    outcome->is_late = watch.is_late;
    close_solver(&k);
    return true;
}
