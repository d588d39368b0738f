/* Where the interior point starts, when it looks at the gap, and what it keeps. */
#include "kernel.h"

#include <math.h>
#include <string.h>

#define FEW_STEPS 120    /* taken however much work they are ... */
#define MOST_STEPS 400   /* ... and so many where they are little work */
#define LITTLE_WORK 1e10 /* operations of all steps: a second */
#define LOOK_EVERY 8     /* steps between two looks at the gap while it is far from closed */
#define SPENT 0.9        /* share of the gap that is spent on leaking less to everyone */
#define SPENDABLE 0.5    /* share of the gap that must be left before that is begun ... */
#define MORE_LOOKS 12    /* ... or so many looks more */
#define FRUGAL_STEPS 3   /* steps that are then taken at most, times those that closed the gap */
#define PATIENCE 30      /* looks without any gain after which the search is given up */
#define USUAL_RESPONSE                                                                             \
    0.1           /* by how much I(Rhat; X | Z) falls per weight on it: costs are near 1           \
                   */
#define EARLY 0.1 /* barrier beside caps, as a share of that weight, to return to */

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

/* Whether every cap leaves at least a third of what it leaves to an even draw of letters. */
static bool is_well_below_caps(const Solver *k, const Iterate *it)
{
    const int n_x = k->p.n_x, n_rhat = k->p.n_rhat;
    leave_rooms(k, it->cap_joint, k->caps);
    for (int i = 0; i < k->n_caps; i++) {
        const size_t at = (size_t)(i / k->n_block) * n_x + i % n_x;
        if (isfinite(k->cap[at]) && k->caps[i] < 0.3 * k->cap_room[at] / n_rhat)
            return false;
    }
    return true;
}

static bool is_well_inside(const Solver *k, const Iterate *it)
{
    for (int i = 0; i < k->n_limits; i++)
        if (k->is_limited[i] && it->leakage[i] > 0.7 * k->budget[i])
            return false;
    for (int i = 0; i <= k->p.n_views; i++)
        if (k->p.price[i] * it->leakage[i] > 0.1)
            return false;
    return is_well_below_caps(k, it);
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
        it->s[i] =
            k->barrier[i / k->n_block * k->p.n_x + i % k->p.n_x] * 0.3 / k->p.n_rhat / it->c[i];
    for (int i = 0; i < k->n_limits; i++) {
        const double budget = k->budget[i];
        it->multiplier[i] = k->is_limited[i] ? fmax(0.3 / budget, 0.1) : 0;
        it->slack[i] = k->is_limited[i] ? fmax(budget - it->leakage[i], 0.1 * budget) : 1;
    }
    if (k->is_full_exact)
        level(k, it);
    start_caps(k, it);
    settle(k, it);
}

/* -- looks ----------------------------------------------------------------------------------- */

/* What one look finds; values are of E cost plus what is priced. */
typedef struct {
    double value;   /* of the channel, made feasible */
    double leakage; /* I(Rhat; X | Z) of that channel */
    double dual;    /* no channel has a lower value + frugality * leakage, or, once the value is a
                     * limit, a lower frugality * leakage */
    double bound;   /* no channel has a lower value, until then */
} Look;

/* The best so far. */
typedef struct {
    double value, bound;
    double leakage, least; /* among the channels within the gap: the best one's, and a bound */
    int idle;              /* looks without any gain */
    int n_closed;          /* looks at a closed gap of which too little was left to be spent */
} Progress;

/* Weight of the channel in a feasible mixture with a constant release (convexity; no search). */
static double feasible_share(const Solver *k, const Iterate *it)
{
    double share = capped_share(k, it);
    for (int i = 0; i < k->n_limits; i++)
        if (k->is_limited[i] && i != k->value && it->leakage[i] > k->budget[i])
            share = fmin(share, k->budget[i] / it->leakage[i]);
    return share;
}

static Look look(const Solver *k)
{
    const Problem *p = &k->p;
    const Iterate *it = &k->now;
    const double share = feasible_share(k, it);
    /* Ten times, because the forces are still growing while the constraints are off. */
    const double spent = it->leakage[k->value] + 10 * exact_error(k, it);
    double paid = 0;
    for (int i = 0; i < k->n_limits; i++)
        paid += k->is_limited[i] ? it->multiplier[i] * k->budget[i] : 0;
    Look seen;
    seen.value = share * spent + (1 - share) * k->least_constant;
    seen.leakage = share * it->leakage[p->n_views];
    seen.dual = dual_value(k, it) - paid;
    /* Whatever the channel, I(Rhat; X | Z) is at most log |Rhat|. */
    const bool is_limited = k->is_limited[p->n_views];
    const double at_most = is_limited ? k->budget[p->n_views] : log(p->n_rhat);
    seen.bound = k->is_full_exact ? seen.dual : seen.dual - k->frugality * at_most;
    /* A channel below the bound is off the exact views' constraints, by at least as much. */
    if (seen.value < seen.bound)
        seen.value = 2 * seen.bound - seen.value;
    return seen;
}

static void keep_proof(const Solver *k, Outcome *outcome)
{
    const Iterate *it = &k->now;
    memcpy(outcome->witness, it->c, sizeof(double) * k->n_cells);
    for (int view = 0; view <= k->p.n_views; view++)
        outcome->multiplier[view] = it->multiplier[view] + k->p.price[view];
    memcpy(outcome->row_force, it->row_force, sizeof(double) * k->n_row_cells);
    if (k->is_full_exact)
        memcpy(outcome->full_force, it->full_force, sizeof(double) * k->n_cells);
    const size_t n_row_caps = (size_t)k->n_row_groups * k->n_block;
    if (k->p.row_cap)
        memcpy(outcome->row_cap, it->cap_multiplier, sizeof(double) * n_row_caps);
    if (k->p.full_cap)
        memcpy(outcome->full_cap, it->cap_multiplier + n_row_caps, sizeof(double) * k->n_cells);
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

/* Keep the channel of least value and the proof of the best bound. */
static void close_gap(const Solver *k, const Look *seen, Progress *so_far, Outcome *outcome,
                      int step)
{
    const bool is_tighter = isfinite(seen->bound) && seen->bound > so_far->bound;
    if (is_tighter) {
        keep_proof(k, outcome);
        outcome->bound = so_far->bound = seen->bound;
    }
    /* A value below the bound was wrong: that channel is far from meeting its caps. */
    const bool is_better = seen->value < so_far->value || so_far->value < so_far->bound;
    if (is_better) {
        keep_channel(k, outcome, step);
        so_far->value = seen->value;
        so_far->leakage = seen->leakage;
    }
    so_far->idle = is_better || is_tighter ? 0 : so_far->idle + 1;
}

static bool is_closed(const Solver *k, const Progress *so_far)
{
    return fabs(so_far->value - so_far->bound) <= k->p.gap_tol;
}

/* -- frugality: the least leakage to everyone among the channels within the gap ([M] fact 5) --- */

/* Whether full collusion does not bind, so that the channel may leak more than it need. */
static bool leaks_for_nothing(const Solver *k)
{
    const int full = k->p.n_views;
    const double weight = k->now.multiplier[full] + k->p.price[full];
    return !k->is_full_exact && weight <= 1e3 * k->frugality &&
           k->now.leakage[full] > k->p.frugal_tol;
}

/* Whether enough of the gap is left: the optimum lies anywhere between bound and value, and the
 * limit that the value gets must be above it. */
static bool is_spendable(const Solver *k, Progress *so_far)
{
    const double left = k->p.gap_tol - (so_far->value - so_far->bound);
    return left >= SPENDABLE * k->p.gap_tol || ++so_far->n_closed > MORE_LOOKS;
}

/* A weight w lowers I by D w and costs D w^2 / 2: that which spends ``room`` if D is ``response``.
 */
static double frugality_for(double room, double response)
{
    return fmin(sqrt(2 * room / fmax(response, 1e-12)), 0.1);
}

/* Caps leave optima that are flat in many directions. From one that is close to its boundaries the
 * way to the least leakage is long, and D says little of it: keep where the barrier was as large
 * as the weight will be, to return to. */
static void keep_early(Solver *k)
{
    if (!k->n_groups || k->is_frugal || k->has_early)
        return;
    const double weight = frugality_for(SPENT * k->p.gap_tol, USUAL_RESPONSE);
    if (complementarity(k, &k->now, NULL, 0) > EARLY * weight * k->n_pairs)
        return;
    copy_iterate(k, &k->now, &k->early);
    k->has_early = true;
}

/* The value becomes a limit, and what it limits is I(Rhat; X | Z): objective and limit exchanged.
 */
static void turn_frugal(Solver *k, Progress *so_far, Outcome *outcome)
{
    Iterate *it = &k->now;
    /* Less than the gap, because the limits hold only in the end. */
    const double allowed = so_far->bound + SPENT * k->p.gap_tol;
    const double room = fmax(allowed - it->leakage[k->value], 0.3 * k->p.gap_tol);
    /* With the weight that spends the gap the value's multiplier stays near 1. */
    const double guess = frugality_for(room, k->has_early ? USUAL_RESPONSE : frugal_response(k));
    double least_slack = 0.1 * k->p.gap_tol;
    if (k->has_early) {
        copy_iterate(k, &k->early, it);
        const double barrier = complementarity(k, it, NULL, 0) / k->n_pairs;
        hold_caps(k, it, barrier);
        least_slack = fmax(least_slack, barrier);
    }
    k->is_frugal = k->is_limited[k->value] = true;
    k->budget[k->value] = allowed;
    k->n_pairs += 1;
    it->multiplier[k->value] = 1;
    it->slack[k->value] = fmax(allowed - it->leakage[k->value], least_slack);
    k->frugality = fmax(guess, k->frugality);
    so_far->idle = 0;
    outcome->waste = so_far->leakage;
    settle(k, it);
}

/* The Lagrangian may be scaled at will: keep its weights near 1, where rounding is least. */
static void rescale(Solver *k)
{
    Iterate *it = &k->now;
    const double factor = 1 / fmax(it->multiplier[k->value], k->frugality);
    if (factor > 0.5 && factor < 2)
        return;
    k->frugality *= factor;
    for (int i = 0; i < k->n_limits; i++)
        it->multiplier[i] *= factor;
    for (int i = 0; i < k->n_cells; i++)
        it->s[i] *= factor;
    for (int i = 0; i < k->n_row_cells; i++)
        it->row_force[i] *= factor;
    for (int i = 0; i < k->n_caps; i++)
        it->cap_multiplier[i] *= factor;
    for (int i = 0; k->is_full_exact && i < k->n_cells; i++)
        it->full_force[i] *= factor;
    settle(k, it);
}

/* Keep the channel of least leakage whose value stays within the gap. */
static void save_leakage(const Solver *k, const Look *seen, Progress *so_far, Outcome *outcome,
                         int step)
{
    so_far->least = fmax(so_far->least, seen->dual / k->frugality);
    const bool is_within = seen->value <= so_far->bound + k->p.gap_tol;
    const bool is_better = is_within && seen->leakage < so_far->leakage - 1e-9;
    if (is_better) {
        keep_channel(k, outcome, step);
        so_far->leakage = seen->leakage;
    }
    so_far->idle = is_better ? 0 : so_far->idle + 1;
    outcome->waste = fmax(so_far->leakage - so_far->least, 0);
}

/* Whether the gap may be about to close. */
static bool is_near(const Solver *k)
{
    return complementarity(k, &k->now, NULL, 0) <= 1e4 * k->p.gap_tol * k->n_pairs;
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

static bool may_go_on(const Solver *k, int step)
{
    return step <= FEW_STEPS || (step <= MOST_STEPS && work_done(k->watch) < LITTLE_WORK);
}

/* Mehrotra's method, stopping on the gap ([M] fact 2), never on a small step. Returns whether that
 * was closed. */
static bool search(Solver *k, Outcome *outcome)
{
    Progress so_far = {.value = INFINITY, .bound = -INFINITY};
    start(k);
    keep_channel(k, outcome, 0);
    keep_proof(k, outcome);
    outcome->bound = -INFINITY;
    outcome->waste = 0;
    int n_closing = 0; /* steps that closed the gap */
    for (int step = 0; may_go_on(k, step) && so_far.idle <= PATIENCE; step++) {
        n_closing += !k->is_frugal;
        if (step > (1 + FRUGAL_STEPS) * n_closing)
            break;
        if (k->is_frugal || step % LOOK_EVERY == 0 || is_near(k)) {
            const Look seen = look(k);
            if (!k->is_frugal)
                close_gap(k, &seen, &so_far, outcome, step);
            if (!k->is_frugal && is_closed(k, &so_far)) {
                if (!leaks_for_nothing(k))
                    break;
                if (is_spendable(k, &so_far))
                    turn_frugal(k, &so_far, outcome);
            } else if (k->is_frugal) {
                save_leakage(k, &seen, &so_far, outcome, step);
                if (outcome->waste <= k->p.frugal_tol)
                    break;
                rescale(k);
            }
        }
        keep_early(k);
        if (advance(k))
            continue;
        if (k->is_frugal || !so_far.n_closed)
            break;
        turn_frugal(k, &so_far, outcome);
    }
    return is_closed(k, &so_far);
}

/* How a search ended: OPEN if another one could close the gap. */
typedef enum { NO_MEMORY, STOPPED, OPEN, ENDED } End;

static End run(const Lapack *lapack, const Interpreter *interpreter, const Problem *problem,
               bool holds_all_caps, double most_work, Outcome *outcome)
{
    Solver k;
    Watch watch;
    volatile End end = STOPPED;
    if (!open_solver(&k, problem, lapack, &watch))
        return NO_MEMORY;
    k.holds_all_caps |= holds_all_caps;
    start_watch(&watch, interpreter, most_work);
    if (!setjmp(watch.stopped))
        end = search(&k, outcome) || k.holds_all_caps ? ENDED : OPEN;
    else if (watch.is_spent && k.is_frugal) /* the gap is closed: what was kept so far counts */
        end = ENDED;
    end_watch(&watch);
    outcome->work = work_done(&watch);
    outcome->is_late = watch.is_late || (watch.is_spent && end == STOPPED);
    close_solver(&k);
    return end;
}

/* Returns whether there was memory. The caller holds Python's lock; where a signal's handler has
 * raised, the exception is set on return and the outcome means nothing. */
EXPORT bool tacit_minimise(const Lapack *lapack, const Interpreter *interpreter,
                           const Problem *problem, Outcome *outcome)
{
    const double most_work = outcome->work > 0 ? outcome->work : INFINITY;
    End end = run(lapack, interpreter, problem, false, most_work, outcome);
    if (end == OPEN) { /* a cap that was met late may be met too late: all from the start */
        const double work = outcome->work;
        end = run(lapack, interpreter, problem, true, most_work - work, outcome);
        outcome->work += work;
    }
    return end != NO_MEMORY;
}
