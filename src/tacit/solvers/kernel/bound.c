/* A lower bound on the Lagrangian over all channels ([M] fact 2), for the search to stop on. */
#include "kernel.h"

#include <math.h>
#include <string.h>

/* Price of every row: multiplier times log ratio, and for exact views the force, made worth nothing
 * to every exact channel. */
static void price_rows(const Solver *k, const Iterate *it, double *rows)
{
    const Problem *p = &k->p;
    const int n_x = p->n_x;
    for (int row = 0; row < p->n_rows; row++) {
        const double weight = weight_of(k, it, p->view_of_row[row]);
        const double *mass = k->row_mass + (size_t)row * n_x;
        for (int rhat = 0; rhat < p->n_rhat; rhat++) {
            const size_t at = ((size_t)row * p->n_rhat + rhat) * n_x;
            double mean = 0;
            for (int x = 0; k->is_any_exact_row && x < n_x; x++)
                mean += mass[x] * it->row_force[at + x];
            mean /= k->row_total[row] > 0 ? k->row_total[row] : 1;
            for (int x = 0; x < n_x; x++)
                rows[at + x] = weight * it->row_log_ratio[at + x] + it->row_force[at + x] - mean;
        }
    }
}

/* Price of every cell, without the term of full collusion. Caps are worth nothing or less to every
 * channel that meets them. */
static void price_cells(const Solver *k, const Iterate *it, double *cells)
{
    price_rows(k, it, k->rows);
    const double of_cost = value_weight(k, it);
    for (int i = 0; i < k->n_cells; i++)
        cells[i] = of_cost * k->p.cost[i];
    for (int z = 0; z < k->p.n_z; z++)
        add_spread(k, z, k->rows, cells + (size_t)z * k->n_block);
    if (k->n_groups) {
        pull_caps(k, it->cap_multiplier, k->pulled);
        add_cap_forces(k, k->pulled, cells);
    }
}

/* Where full collusion must learn nothing: the best letter of every history. */
static double exact_value(const Solver *k, const double *price)
{
    double value = 0;
    for (int z = 0; z < k->p.n_z; z++) {
        double least = INFINITY;
        for (int rhat = 0; rhat < k->p.n_rhat; rhat++) {
            double total = 0;
            for (int x = 0; x < k->p.n_x; x++)
                total += k->p.mass[(size_t)z * k->p.n_x + x] *
                         price[(size_t)z * k->n_block + rhat * k->p.n_x + x];
            least = fmin(least, total);
        }
        value += least;
    }
    return value;
}

/* Blahut's bound (1972) for one history: one update of the channel, and how much more often it
 * would use the letter that gains most. */
static double history_value(const Solver *k, const Iterate *it, int z, double weight, double *price)
{
    const int n_x = k->p.n_x, n_rhat = k->p.n_rhat;
    const double *mass = k->p.mass + (size_t)z * n_x;
    const double *joint = it->history_joint + (size_t)z * n_rhat;
    double *grown = price, inner = 0, most = 0;
    double *largest = k->newton.total, *sum = k->newton.total + n_x;
    for (int x = 0; x < n_x; x++) {
        largest[x] = -INFINITY;
        sum[x] = 0;
    }
    for (int rhat = 0; rhat < n_rhat; rhat++) {
        const double log_q = log(joint[rhat] / k->mass_z[z]);
        for (int x = 0; x < n_x; x++) {
            const int i = rhat * n_x + x;
            grown[i] = log_q - price[i] / weight;
            largest[x] = grown[i] > largest[x] ? grown[i] : largest[x];
        }
    }
    for (int rhat = 0; rhat < n_rhat; rhat++)
        for (int x = 0; x < n_x; x++) {
            const int i = rhat * n_x + x;
            grown[i] = exp(grown[i] - largest[x]);
            sum[x] += grown[i];
        }
    for (int x = 0; x < n_x; x++) {
        inner += mass[x] * (largest[x] + log(sum[x]));
        sum[x] = mass[x] / sum[x];
    }
    for (int rhat = 0; rhat < n_rhat; rhat++) {
        double total = 0;
        for (int x = 0; x < n_x; x++)
            total += sum[x] * grown[rhat * n_x + x];
        if (!(total / joint[rhat] <= most)) /* keeps a NaN */
            most = total / joint[rhat];
    }
    return inner + k->mass_z[z] * log(most);
}

double dual_value(const Solver *k, const Iterate *it)
{
    double *price = k->cells, inner = 0;
    price_cells(k, it, price);
    if (k->is_full_exact)
        return exact_value(k, price);
    const double weight = weight_of(k, it, k->p.n_views);
    for (int z = 0; z < k->p.n_z; z++)
        inner += history_value(k, it, z, weight, price + (size_t)z * k->n_block);
    return -weight * inner;
}
