/* Between cells and the rows of the partial views, with weights p(y | z, x). */
#include "kernel.h"

#include <string.h>

/* rows += what the views see of one history's block. */
VECTORISED void collect_block(const Solver *k, int z, const double *block, double *rows)
{
    const Problem *p = &k->p;
    const int n_x = p->n_x, n_block = k->n_block;
    work(k, (double)n_block * (1 + (p->row_of_z ? p->n_views : p->n_rows)));
    if (p->row_of_z) {
        for (int view = 0; view < p->n_views; view++) {
            double *row = rows + (size_t)p->row_of_z[view * p->n_z + z] * n_block;
            for (int i = 0; i < n_block; i++)
                row[i] += block[i];
        }
        return;
    }
    for (int row = 0; row < p->n_rows; row++) {
        const double *law = p->law + ((size_t)row * p->n_z + z) * n_x;
        for (int rhat = 0; rhat < p->n_rhat; rhat++) {
            double *seen = rows + ((size_t)row * p->n_rhat + rhat) * n_x;
            for (int x = 0; x < n_x; x++)
                seen[x] += law[x] * block[rhat * n_x + x];
        }
    }
}

/* The transpose: block += what rows mean for one history. */
VECTORISED void add_spread(const Solver *k, int z, const double *rows, double *block)
{
    const Problem *p = &k->p;
    const int n_x = p->n_x, n_block = k->n_block;
    work(k, (double)n_block * (1 + (p->row_of_z ? p->n_views : p->n_rows)));
    if (p->row_of_z) {
        for (int view = 0; view < p->n_views; view++) {
            const double *row = rows + (size_t)p->row_of_z[view * p->n_z + z] * n_block;
            for (int i = 0; i < n_block; i++)
                block[i] += row[i];
        }
        return;
    }
    for (int row = 0; row < p->n_rows; row++) {
        const double *law = p->law + ((size_t)row * p->n_z + z) * n_x;
        for (int rhat = 0; rhat < p->n_rhat; rhat++) {
            const double *seen = rows + ((size_t)row * p->n_rhat + rhat) * n_x;
            for (int x = 0; x < n_x; x++)
                block[rhat * n_x + x] += law[x] * seen[x];
        }
    }
}

/* What the views see of mass * cells. */
void collect_mass(const Solver *k, const double *cells, double *rows)
{
    const Problem *p = &k->p;
    double *block = k->newton.block;
    memset(rows, 0, sizeof(double) * k->n_row_cells);
    for (int z = 0; z < p->n_z; z++) {
        const double *mass = p->mass + (size_t)z * p->n_x;
        const double *own = cells + (size_t)z * k->n_block;
        for (int rhat = 0; rhat < p->n_rhat; rhat++)
            for (int x = 0; x < p->n_x; x++)
                block[rhat * p->n_x + x] = mass[x] * own[rhat * p->n_x + x];
        collect_block(k, z, block, rows);
    }
}
