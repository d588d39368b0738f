/* One step of Mehrotra's predictor-corrector with Gondzio's (1996) corrections of centrality. */
#include "kernel.h"

#include <math.h>
#include <string.h>

#define BOUNDARY_FRACTION 0.98
#define BEHIND 1e-3     /* how far complementarity may fall below infeasibility */
#define CORRECTIONS 3   /* of centrality, at most, in one step */
#define EXPLAINED 100.0 /* residual beside complementarity that curvature explains */
#define CENTRAL 10.0    /* products within this factor of the aimed ones are left alone */

/* -- directions ------------------------------------------------------------------------------ */

static double inner(const double *a, const double *b, int n)
{
    double total = 0;
    for (int i = 0; i < n; i++)
        total += a[i] * b[i];
    return total;
}

/* Gradient of a leakage, or of the value, per unit of mass. */
static void limit_gradient(const Solver *k, const Iterate *it, int limit, double *gradient)
{
    const Problem *p = &k->p;
    const bool is_value = limit == k->value;
    const double of_full = is_value ? p->price[p->n_views] : limit == p->n_views;
    for (int i = 0; i < k->n_cells; i++)
        gradient[i] = (is_value ? p->cost[i] : 0) + of_full * it->full_log_ratio[i];
    if (limit == p->n_views)
        return;
    for (int row = 0; row < p->n_rows; row++) {
        const int view = p->view_of_row[row];
        const double weight = is_value ? p->price[view] : view == limit;
        for (int i = row * k->n_block; i < (row + 1) * k->n_block; i++)
            k->rows[i] = weight * it->row_log_ratio[i];
    }
    for (int z = 0; z < p->n_z; z++)
        add_spread(k, z, k->rows, gradient + (size_t)z * k->n_block);
}

static void multiply_by_mass(const Solver *k, double *cells)
{
    for (int z = 0; z < k->p.n_z; z++) {
        const double *mass = k->p.mass + (size_t)z * k->p.n_x;
        for (int rhat = 0; rhat < k->p.n_rhat; rhat++)
            for (int x = 0; x < k->p.n_x; x++)
                cells[(size_t)z * k->n_block + rhat * k->p.n_x + x] *= mass[x];
    }
}

/* Residual, barrier, and the pull back onto the exact views' constraints. */
static void affine_force(const Solver *k, const Iterate *it, double *force)
{
    if (k->is_full_exact)
        full_pull(k, it->c, force);
    else
        memset(force, 0, sizeof(double) * k->n_cells);
    for (int i = 0; i < k->n_cells; i++)
        force[i] += it->residual[i] + it->s[i];
    if (k->n_groups) { /* multipliers and primal residuals of the caps */
        leave_rooms(k, it->cap_joint, k->caps);
        for (int i = 0; i < k->n_caps; i++)
            k->caps[i] *= -k->newton.cap_stiffness[i];
        pull_caps(k, k->caps, k->pulled);
        add_cap_forces(k, k->pulled, force);
    }
    if (!k->is_any_exact_row)
        return;
    row_pull(k, it->row_joint, k->rows);
    for (int z = 0; z < k->p.n_z; z++)
        add_spread(k, z, k->rows, force + (size_t)z * k->n_block);
}

/* Factorise, and eliminate the multipliers of the limits. */
static bool prepare(Solver *k, const Iterate *it)
{
    const int n = k->n_limits;
    if (!factorise(k, it))
        return false;
    for (int i = 0; i < n; i++)
        if (k->is_limited[i]) {
            double *gradient = k->gradients + (size_t)i * k->n_cells;
            limit_gradient(k, it, i, gradient);
            solve(k, it, gradient, k->answers + (size_t)i * k->n_cells);
            multiply_by_mass(k, gradient);
        }
    affine_force(k, it, k->force);
    solve(k, it, k->force, k->affine_free);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double entry = 0;
            if (k->is_limited[i] && k->is_limited[j])
                entry = inner(k->gradients + (size_t)i * k->n_cells,
                              k->answers + (size_t)j * k->n_cells, k->n_cells);
            if (i == j) /* a view without a limit keeps its multiplier */
                entry -= k->is_limited[i] ? it->slack[i] / it->multiplier[i] : 1;
            k->schur[j * n + i] = entry; /* by columns, as LAPACK has it */
        }
    return true;
}

/* How fast I(Rhat; X | Z) falls as its weight rises, the limits held; 0 where rounding forbids. */
double frugal_response(Solver *k)
{
    const Iterate *it = &k->now;
    const Integer n = k->n_limits, one = 1;
    Integer info = 0;
    if (!prepare(k, it))
        return 0;
    solve(k, it, it->full_log_ratio, k->free);
    for (int i = 0; i < n; i++)
        k->side[i] = k->is_limited[i]
                         ? -inner(k->gradients + (size_t)i * k->n_cells, k->free, k->n_cells)
                         : 0;
    memcpy(k->factor, k->schur, sizeof(double) * n * n);
    k->lapack->dgesv(&n, &one, k->factor, &n, k->pivots, k->side, &n, &info);
    if (info)
        return 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; k->is_limited[i] && j < k->n_cells; j++)
            k->free[j] += k->side[i] * k->answers[(size_t)i * k->n_cells + j];
    multiply_by_mass(k, k->free);
    return -inner(k->free, it->full_log_ratio, k->n_cells);
}

/* The same for the caps, given the channel's change. */
static void direct_caps(const Solver *k, const Iterate *it, const double *aim, Direction *out)
{
    collect_caps(k, out->c, k->caps);
    for (int i = 0; i < k->n_caps; i++)
        k->caps[i] += it->cap_joint[i];
    leave_rooms(k, k->caps, k->caps);
    for (int i = 0; i < k->n_caps; i++) {
        const double multiplier = it->cap_multiplier[i], slack = it->cap_slack[i];
        if (!(multiplier > 0)) /* no cap */
            continue;
        const double wanted = aim ? aim[i] : 0;
        out->cap_multiplier[i] = k->newton.cap_stiffness[i] * (wanted / multiplier - k->caps[i]);
        out->cap_slack[i] = (wanted - slack * out->cap_multiplier[i]) / multiplier - slack;
    }
}

/* The direction that makes the products s*c and multiplier*slack what is aimed at, given the change
 * of the channel at fixed multipliers. NULL aims at 0. */
static bool direct(Solver *k, const Iterate *it, const double *free, const double *cell_aim,
                   const double *aim, const double *cap_aim, Direction *out)
{
    const Integer n = k->n_limits, one = 1;
    Integer info = 0;
    for (int i = 0; i < n; i++) {
        out->slack[i] = k->side[i] = 0;
        if (!k->is_limited[i])
            continue;
        out->slack[i] = (aim ? aim[i] : 0) / it->multiplier[i] - it->slack[i];
        const double moved = inner(k->gradients + (size_t)i * k->n_cells, free, k->n_cells);
        const double primal = it->leakage[i] + it->slack[i] - k->budget[i];
        k->side[i] = -(primal + moved + out->slack[i]);
    }
    memcpy(k->factor, k->schur, sizeof(double) * n * n);
    k->lapack->dgesv(&n, &one, k->factor, &n, k->pivots, k->side, &n, &info);
    if (info)
        return false;
    memcpy(out->c, free, sizeof(double) * k->n_cells);
    for (int i = 0; i < n; i++) {
        out->multiplier[i] = k->is_limited[i] ? k->side[i] : 0;
        if (!k->is_limited[i])
            continue;
        const double *answer = k->answers + (size_t)i * k->n_cells, change = k->side[i];
        for (int j = 0; j < k->n_cells; j++)
            out->c[j] += change * answer[j];
        out->slack[i] -= it->slack[i] * change / it->multiplier[i];
    }
    for (int i = 0; i < k->n_cells; i++)
        out->s[i] = ((cell_aim ? cell_aim[i] : 0) - it->s[i] * out->c[i]) / it->c[i] - it->s[i];
    if (k->n_groups)
        direct_caps(k, it, cap_aim, out);
    return true;
}

/* Aim at products of ``target``, weighted as the barrier is, the predictor's own products taken
 * off.
 */
static void take_aim(Solver *k, double target, double correction)
{
    const int n_x = k->p.n_x;
    for (int i = 0; i < k->n_cells; i++) {
        const double weight = k->barrier[i / k->n_block * n_x + i % n_x];
        k->cell_aim[i] = target * weight - correction * k->affine.s[i] * k->affine.c[i];
    }
    for (int i = 0; i < k->n_limits; i++)
        k->aim[i] = target - correction * k->affine.multiplier[i] * k->affine.slack[i];
    for (int i = 0; i < k->n_caps; i++) {
        const double weight = k->cap_barrier[i / k->n_block * n_x + i % n_x];
        k->cap_aim[i] =
            target * weight - correction * k->affine.cap_multiplier[i] * k->affine.cap_slack[i];
    }
}

/* What brings a product that a step would leave far from its aim back towards it. */
static double off_centre(double product, double wanted)
{
    if (product < wanted / CENTRAL)
        return wanted / CENTRAL - product;
    return product > CENTRAL * wanted ? fmax(CENTRAL * wanted - product, -CENTRAL * wanted) : 0;
}

/* Correct the aim by what a step along a direction would leave off centre. */
static void correct_aim(Solver *k, const Iterate *it, const Direction *along, double step,
                        double target)
{
    const int n_x = k->p.n_x;
    for (int i = 0; i < k->n_cells; i++) {
        const double weight = k->barrier[i / k->n_block * n_x + i % n_x];
        const double product = (it->c[i] + step * along->c[i]) * (it->s[i] + step * along->s[i]);
        k->cell_aim[i] += off_centre(product, target * weight);
    }
    for (int i = 0; i < k->n_limits; i++)
        if (k->is_limited[i])
            k->aim[i] += off_centre((it->multiplier[i] + step * along->multiplier[i]) *
                                        (it->slack[i] + step * along->slack[i]),
                                    target);
    for (int i = 0; i < k->n_caps; i++) {
        const double weight = k->cap_barrier[i / k->n_block * n_x + i % n_x];
        k->cap_aim[i] += off_centre((it->cap_multiplier[i] + step * along->cap_multiplier[i]) *
                                        (it->cap_slack[i] + step * along->cap_slack[i]),
                                    target * weight);
    }
}

/* The direction towards the aimed products. */
static bool towards_aim(Solver *k, const Iterate *it, Direction *out)
{
    for (int i = 0; i < k->n_cells; i++)
        k->force[i] = k->cell_aim[i] / it->c[i];
    if (k->n_groups) {
        for (int i = 0; i < k->n_caps; i++)
            k->caps[i] = it->cap_multiplier[i] > 0
                             ? -k->cap_aim[i] * k->newton.cap_stiffness[i] / it->cap_multiplier[i]
                             : 0;
        pull_caps(k, k->caps, k->pulled);
        add_cap_forces(k, k->pulled, k->force);
    }
    solve(k, it, k->force, k->free);
    for (int i = 0; i < k->n_cells; i++)
        k->free[i] = k->affine_free[i] - k->free[i];
    return direct(k, it, k->free, k->cell_aim, k->aim, k->cap_aim, out);
}

/* -- steps ----------------------------------------------------------------------------------- */

static double shrink(double most, double change, double value)
{
    const double own = -change / value;
    return own <= most || isnan(most) ? most : own; /* keeps a NaN */
}

/* Largest step in [0, 1] that keeps everything positive. */
static double longest_step(const Solver *k, const Iterate *it, const Direction *along)
{
    double most = 1;
    for (int i = 0; i < k->n_cells; i++) {
        most = shrink(most, along->c[i], it->c[i]);
        most = shrink(most, along->s[i], it->s[i]);
    }
    for (int i = 0; i < k->n_limits; i++)
        if (k->is_limited[i]) {
            most = shrink(most, along->multiplier[i], it->multiplier[i]);
            most = shrink(most, along->slack[i], it->slack[i]);
        }
    for (int i = 0; i < k->n_caps; i++)
        if (it->cap_multiplier[i] > 0) {
            most = shrink(most, along->cap_multiplier[i], it->cap_multiplier[i]);
            most = shrink(most, along->cap_slack[i], it->cap_slack[i]);
        }
    /* The value's multiplier is known within a small factor: a larger change is a bad model. */
    if (k->is_frugal)
        most = shrink(most, -along->multiplier[k->value], 3 * it->multiplier[k->value]);
    return 1 / most;
}

/* The exact views' multipliers after a step: the pull that the linear model predicts. */
static void move_forces(const Solver *k, const Iterate *it, const double *change, double step,
                        Iterate *next)
{
    if (k->is_any_exact_row) {
        double *pull = next->row_joint; /* measured later */
        collect_mass(k, change, k->rows);
        for (int i = 0; i < k->n_row_cells; i++)
            k->rows[i] += it->row_joint[i];
        row_pull(k, k->rows, pull);
        for (int i = 0; i < k->n_row_cells; i++)
            next->row_force[i] = it->row_force[i] + step * pull[i];
    }
    if (k->is_full_exact) {
        double *pull = next->full_log_ratio; /* measured later */
        for (int i = 0; i < k->n_cells; i++)
            k->cells[i] = it->c[i] + change[i];
        full_pull(k, k->cells, pull);
        for (int i = 0; i < k->n_cells; i++)
            next->full_force[i] = it->full_force[i] + step * pull[i];
    }
}

/* Rounding in large forces may have moved sums away from 1. */
static void normalise(const Solver *k, double *c)
{
    const int n_x = k->p.n_x;
    double *sum = k->newton.total;
    for (int z = 0; z < k->p.n_z; z++) {
        double *block = c + (size_t)z * k->n_block;
        memset(sum, 0, sizeof(double) * n_x);
        for (int rhat = 0; rhat < k->p.n_rhat; rhat++)
            for (int x = 0; x < n_x; x++)
                sum[x] += block[rhat * n_x + x];
        for (int rhat = 0; rhat < k->p.n_rhat; rhat++)
            for (int x = 0; x < n_x; x++)
                block[rhat * n_x + x] /= sum[x];
    }
}

/* Slacks become what is really left wherever that is possible. */
static void move_caps(const Solver *k, const Iterate *it, const Direction *along, double step,
                      Iterate *next)
{
    leave_rooms(k, next->cap_joint, k->caps);
    for (int i = 0; i < k->n_caps; i++) {
        const double slack = it->cap_slack[i] + step * along->cap_slack[i];
        next->cap_multiplier[i] = it->cap_multiplier[i] + step * along->cap_multiplier[i];
        next->cap_slack[i] = k->caps[i] > 0.2 * slack ? fmin(k->caps[i], 5 * slack) : slack;
    }
}

static void move(const Solver *k, const Iterate *it, const Direction *along, double step,
                 Iterate *next)
{
    const Problem *p = &k->p;
    for (int i = 0; i < k->n_cells; i++) {
        next->c[i] = p->is_multiplicative ? it->c[i] * exp(step * along->c[i] / it->c[i])
                                          : it->c[i] + step * along->c[i];
        next->s[i] = it->s[i] + step * along->s[i];
    }
    normalise(k, next->c);
    move_forces(k, it, along->c, step, next);
    measure(k, next);
    for (int i = 0; i < k->n_limits; i++) {
        next->multiplier[i] = it->multiplier[i] + step * along->multiplier[i];
        next->slack[i] = it->slack[i] + step * along->slack[i];
        /* Reset the slack to what is really left: it keeps I + slack = budget exact. */
        const double left = k->budget[i] - next->leakage[i];
        if (k->is_limited[i] && left > 0.2 * next->slack[i])
            next->slack[i] = fmin(left, 5 * next->slack[i]);
    }
    move_caps(k, it, along, step, next);
    settle(k, next);
}

/* Reset the dual slacks of nearly unused letters, where Newton's model is not curved enough. */
static void recentre(const Solver *k, Iterate *it)
{
    bool is_any_off = false;
    for (int i = 0; i < k->n_cells; i++)
        is_any_off |= fabs(it->residual[i]) > 0.5 * it->s[i] && it->c[i] < 1e-2;
    if (!is_any_off)
        return;
    const double tau = complementarity(k, it, NULL, 0) / k->n_pairs;
    for (int i = 0; i < k->n_cells; i++)
        if (fabs(it->residual[i]) > 0.5 * it->s[i] && it->c[i] < 1e-2) {
            const double weight = k->barrier[i / k->n_block * k->p.n_x + i % k->p.n_x];
            const double centre = tau * weight / it->c[i], wanted = it->residual[i] + it->s[i];
            it->s[i] = fmin(fmax(wanted, 0.1 * centre), 10 * centre);
        }
    settle_residual(k, it);
}

/* Longer steps by corrections of centrality, which need no new factorisation. */
static double centre(Solver *k, const Iterate *it, double target, double step)
{
    for (int round = 0; round < CORRECTIONS && step < 0.9; round++) {
        correct_aim(k, it, &k->direction, fmin(1, step + 0.3), target);
        if (!towards_aim(k, it, &k->trial))
            break;
        const double longer = longest_step(k, it, &k->trial);
        if (!(longer > step + 0.03))
            break;
        const Direction old = k->direction;
        k->direction = k->trial;
        k->trial = old;
        step = longer;
    }
    return step;
}

/* The direction of a step into k->direction, and how far it may go; 0 where rounding allows none.
 */
static double choose_direction(Solver *k, double comp, double norm)
{
    const Iterate *it = &k->now;
    const double tau = comp / k->n_pairs;
    if (!prepare(k, it) || !direct(k, it, k->affine_free, NULL, NULL, NULL, &k->affine))
        return 0;
    double step = longest_step(k, it, &k->affine);
    const double after = complementarity(k, it, &k->affine, step) / comp;
    const double centring = fmin(0.5, fmax(after * after * after, 1e-3));
    /* Complementarity must not fall much faster than infeasibility. */
    const double behind = fmin(BEHIND * norm / (k->p.n_rhat + 2), 2 * tau);
    const double target = fmax(centring * tau, behind);
    take_aim(k, target, step * step);
    if (!towards_aim(k, it, &k->direction))
        return 0;
    step = centre(k, it, target, longest_step(k, it, &k->direction));
    if (step < 0.2) { /* the second-order correction did not help: centre instead */
        take_aim(k, fmax(target, 0.5 * tau), 0);
        if (!towards_aim(k, it, &k->direction))
            return 0;
        step = longest_step(k, it, &k->direction);
    }
    return step;
}

/* The next iterate takes the place of the present one; false where
 * rounding allows no further step. */
bool advance(Solver *k)
{
    const Iterate *it = &k->now;
    const double comp = complementarity(k, it, NULL, 0);
    const double norm = residual_norm(k, it);
    double step = choose_direction(k, comp, norm);
    if (!(step > 0))
        return false;
    step = fmin(1, BOUNDARY_FRACTION * step);
    move(k, it, &k->direction, step, &k->next);
    /* Halve where the residual rises far above complementarity; once only, because the residual
     * rises while a letter that was hardly used becomes frequent. */
    const double explained = EXPLAINED * comp;
    const double allowed = fmax(fmax((1 - 0.01 * step) * norm, explained), 1e-13);
    if (!(residual_norm(k, &k->next) <= allowed))
        move(k, it, &k->direction, 0.5 * step, &k->next);
    const Iterate old = k->now;
    k->now = k->next;
    k->next = old;
    if (k->n_groups) {
        hold_caps(k, &k->now, comp / k->n_pairs);
        settle(k, &k->now);
    }
    recentre(k, &k->now);
    return true;
}
