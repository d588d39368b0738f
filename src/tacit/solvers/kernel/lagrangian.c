/* E cost + sum (multiplier + price) * I + frugality * I(Rhat; X | Z): values, forces, residuals. */
#include "kernel.h"

#include <math.h>
#include <string.h>

/* Weight of E cost plus what is priced. */
double value_weight(const Solver *k, const Iterate *it)
{
    return k->is_frugal ? it->multiplier[k->value] : 1;
}

/* Weight of a leakage. */
double weight_of(const Solver *k, const Iterate *it, int view)
{
    const double own = it->multiplier[view] + value_weight(k, it) * k->p.price[view];
    return view == k->p.n_views ? own + k->frugality : own;
}

static void measure_rows(const Solver *k, Iterate *it)
{
    const Problem *p = &k->p;
    const int n_x = p->n_x;
    for (int row = 0; row < p->n_rows; row++) {
        const double *prior = k->log_row_prior + (size_t)row * n_x;
        double leaked = 0;
        for (int rhat = 0; rhat < p->n_rhat; rhat++) {
            const size_t at = ((size_t)row * p->n_rhat + rhat) * n_x;
            const double *joint = it->row_joint + at;
            double *log_ratio = it->row_log_ratio + at, marginal = 0;
            for (int x = 0; x < n_x; x++)
                marginal += joint[x];
            for (int x = 0; x < n_x; x++) {
                const double ratio = joint[x] / (marginal > 0 ? marginal : 1);
                log_ratio[x] = log(ratio > 0 ? ratio : 1) - prior[x];
                leaked += joint[x] * log_ratio[x];
            }
        }
        it->leakage[p->view_of_row[row]] += leaked;
    }
}

/* Leakages of it->c and their gradients ([TVC] section IV-A derivatives). */
void measure(const Solver *k, Iterate *it)
{
    const Problem *p = &k->p;
    const int n_x = p->n_x;
    double *joint = k->newton.block;
    memset(it->leakage, 0, sizeof(double) * k->n_limits);
    memset(it->row_joint, 0, sizeof(double) * k->n_row_cells);
    for (int z = 0; z < p->n_z; z++) {
        const double *mass = p->mass + (size_t)z * n_x;
        double leaked = 0, spent = 0;
        for (int rhat = 0; rhat < p->n_rhat; rhat++) {
            const size_t at = (size_t)z * k->n_block + rhat * n_x;
            const double *c = it->c + at, *cost = p->cost + at;
            double *own = joint + rhat * n_x, *log_ratio = it->full_log_ratio + at, total = 0;
            for (int x = 0; x < n_x; x++) {
                own[x] = mass[x] * c[x];
                total += own[x];
            }
            it->history_joint[z * p->n_rhat + rhat] = total;
            const double log_average = log(total / k->mass_z[z]);
            for (int x = 0; x < n_x; x++)
                log_ratio[x] = log(c[x]) - log_average;
            for (int x = 0; x < n_x; x++) {
                leaked += own[x] * log_ratio[x];
                spent += own[x] * cost[x];
            }
        }
        it->leakage[p->n_views] += leaked;
        it->leakage[k->value] += spent;
        collect_block(k, z, joint, it->row_joint);
    }
    measure_rows(k, it);
    if (k->n_groups)
        collect_caps(k, it->c, it->cap_joint);
    for (int view = 0; view <= p->n_views; view++)
        it->leakage[k->value] += p->price[view] * it->leakage[view];
}

/* The dual residual, with the multipliers of sum c = 1 that make it least. */
VECTORISED void settle_residual(const Solver *k, Iterate *it)
{
    const int n_x = k->p.n_x, n_rhat = k->p.n_rhat;
    double *mean = k->newton.total;
    for (int z = 0; z < k->p.n_z; z++) {
        const size_t at = (size_t)z * k->n_block;
        const double *c = it->c + at, *s = it->s + at, *gradient = it->gradient + at;
        double *residual = it->residual + at;
        memset(mean, 0, sizeof(double) * n_x);
        for (int rhat = 0; rhat < n_rhat; rhat++)
            for (int x = 0; x < n_x; x++) {
                const int i = rhat * n_x + x;
                residual[i] = gradient[i] - s[i];
                mean[x] += c[i] * residual[i];
            }
        for (int rhat = 0; rhat < n_rhat; rhat++)
            for (int x = 0; x < n_x; x++)
                residual[rhat * n_x + x] -= mean[x];
    }
}

/* Fill in what follows from channel, multipliers and leakages: gradient and residual. */
VECTORISED void settle(const Solver *k, Iterate *it)
{
    const Problem *p = &k->p;
    double *rows = k->rows;
    for (int row = 0; row < p->n_rows; row++) {
        const double weight = weight_of(k, it, p->view_of_row[row]);
        const size_t at = (size_t)row * k->n_block;
        for (int i = 0; i < k->n_block; i++)
            rows[at + i] = weight * it->row_log_ratio[at + i] + it->row_force[at + i];
    }
    const double full_weight = weight_of(k, it, p->n_views), of_cost = value_weight(k, it);
    for (int z = 0; z < p->n_z; z++) {
        const size_t at = (size_t)z * k->n_block;
        const double *cost = p->cost + at, *log_ratio = it->full_log_ratio + at;
        double *gradient = it->gradient + at;
        if (k->is_full_exact)
            for (int i = 0; i < k->n_block; i++)
                gradient[i] = of_cost * cost[i] + it->full_force[at + i];
        else
            for (int i = 0; i < k->n_block; i++)
                gradient[i] = of_cost * cost[i] + full_weight * log_ratio[i];
        add_spread(k, z, rows, gradient);
    }
    if (k->n_groups) {
        pull_caps(k, it->cap_multiplier, k->pulled);
        add_cap_forces(k, k->pulled, it->gradient);
    }
    settle_residual(k, it);
}

/* Norm of dual and primal residuals, cells weighted by mass. */
double residual_norm(const Solver *k, const Iterate *it)
{
    double square = 0;
    for (int limit = 0; limit < k->n_limits; limit++)
        if (k->is_limited[limit]) {
            const double off = it->leakage[limit] + it->slack[limit] - k->budget[limit];
            square += off * off;
        }
    leave_rooms(k, it->cap_joint, k->caps);
    for (int i = 0; i < k->n_caps; i++) {
        const double off = it->cap_multiplier[i] > 0 ? k->caps[i] - it->cap_slack[i] : 0;
        square += off * off;
    }
    for (int z = 0; z < k->p.n_z; z++) {
        const double *mass = k->p.mass + (size_t)z * k->p.n_x;
        const double *barrier = k->barrier + (size_t)z * k->p.n_x;
        for (int rhat = 0; rhat < k->p.n_rhat; rhat++) {
            const size_t at = (size_t)z * k->n_block + rhat * k->p.n_x;
            const double *c = it->c + at, *residual = it->residual + at;
            for (int x = 0; x < k->p.n_x; x++)
                square += mass[x] / barrier[x] * c[x] * residual[x] * residual[x];
        }
    }
    return sqrt(square);
}

/* Sum of all products of complementary pairs after a step along a direction (or none). */
VECTORISED double complementarity(const Solver *k, const Iterate *it, const Direction *along,
                                  double step)
{
    double total = 0;
    for (int z = 0; z < k->p.n_z; z++) {
        const double *mass = k->p.mass + (size_t)z * k->p.n_x;
        for (int rhat = 0; rhat < k->p.n_rhat; rhat++) {
            const size_t at = (size_t)z * k->n_block + rhat * k->p.n_x;
            const double *c = it->c + at, *s = it->s + at;
            if (!along) {
                for (int x = 0; x < k->p.n_x; x++)
                    total += mass[x] * c[x] * s[x];
                continue;
            }
            const double *to_c = along->c + at, *to_s = along->s + at;
            for (int x = 0; x < k->p.n_x; x++)
                total += mass[x] * (c[x] + step * to_c[x]) * (s[x] + step * to_s[x]);
        }
    }
    for (int i = 0; i < k->n_limits; i++)
        if (k->is_limited[i])
            total += along ? (it->multiplier[i] + step * along->multiplier[i]) *
                                 (it->slack[i] + step * along->slack[i])
                           : it->multiplier[i] * it->slack[i];
    for (int i = 0; i < k->n_caps; i++)
        total += along ? (it->cap_multiplier[i] + step * along->cap_multiplier[i]) *
                             (it->cap_slack[i] + step * along->cap_slack[i])
                       : it->cap_multiplier[i] * it->cap_slack[i];
    return total;
}

/* -- exact views: linear constraints, held by a stiff curvature and by multipliers ------------- */

/* rows = stiffness * (p(rhat | y, x) - p(rhat | y)) on the rows of exact views, else 0. */
void row_pull(const Solver *k, const double *row_joint, double *rows)
{
    const Problem *p = &k->p;
    const int n_x = p->n_x;
    for (int row = 0; row < p->n_rows; row++) {
        const bool is_held = p->is_exact[p->view_of_row[row]];
        const double *mass = k->row_mass + (size_t)row * n_x, total = k->row_total[row];
        for (int rhat = 0; rhat < p->n_rhat; rhat++) {
            const size_t at = ((size_t)row * p->n_rhat + rhat) * n_x;
            double marginal = 0;
            for (int x = 0; x < n_x; x++)
                marginal += row_joint[at + x];
            const double given_y = marginal / (total > 0 ? total : 1);
            for (int x = 0; x < n_x; x++)
                rows[at + x] = is_held && mass[x] > 0
                                   ? k->row_stiffness[row] * (row_joint[at + x] / mass[x] - given_y)
                                   : 0;
        }
    }
}

/* cells = stiffness * (p(rhat | z, x) - p(rhat | z)). */
void full_pull(const Solver *k, const double *c, double *cells)
{
    const int n_x = k->p.n_x;
    for (int z = 0; z < k->p.n_z; z++) {
        const double *mass = k->p.mass + (size_t)z * n_x;
        for (int rhat = 0; rhat < k->p.n_rhat; rhat++) {
            const size_t at = (size_t)z * k->n_block + rhat * n_x;
            double average = 0;
            for (int x = 0; x < n_x; x++)
                average += mass[x] * c[at + x];
            average /= k->mass_z[z];
            for (int x = 0; x < n_x; x++)
                cells[at + x] = k->full_stiffness * (c[at + x] - average);
        }
    }
}

/* What leaving the exact views' constraints may have gained: sum |force * deviation|. */
double exact_error(const Solver *k, const Iterate *it)
{
    const Problem *p = &k->p;
    const int n_x = p->n_x;
    double error = 0;
    if (k->is_any_exact_row) {
        row_pull(k, it->row_joint, k->rows);
        for (int row = 0; row < p->n_rows; row++)
            for (int i = 0; i < k->n_block; i++) {
                const size_t at = (size_t)row * k->n_block + i;
                const double mass = k->row_mass[(size_t)row * n_x + i % n_x];
                error += fabs(it->row_force[at] * mass * k->rows[at]) / k->row_stiffness[row];
            }
    }
    if (k->is_full_exact) {
        full_pull(k, it->c, k->cells);
        for (int z = 0; z < p->n_z; z++)
            for (int i = 0; i < k->n_block; i++) {
                const size_t at = (size_t)z * k->n_block + i;
                const double mass = p->mass[(size_t)z * n_x + i % n_x];
                error += fabs(it->full_force[at] * mass * k->cells[at]) / k->full_stiffness;
            }
    }
    return error;
}
