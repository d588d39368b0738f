/* Newton's system in the channel itself, where its cells are few beside what views show.
 *
 * The letters rhat meet through the sums alone. With A the curvature of one letter as mass, cells
 * (z, x) by cells,
 *
 *     A dc + nu = -mass f    for each rhat,    sum_rhat dc = 0,
 *
 * so nu solves (sum A^-1) nu = -sum A^-1 mass f. A is a diagonal, s/c, and positive terms of full
 * collusion, of every row and of every cap. Cells of no mass, on which none of this depends, are
 * cut off by a unit on the diagonal; what they do follows from what the change leaves of the force.
 */
#include "kernel.h"

#include <math.h>
#include <string.h>

/* curvature = what caps with stiffness w add for p(rhat, y, x) of one letter: sum over x of
 * w (cap db - da)^2 / 2. */
static void add_caps(int n_x, const double *w, const double *cap, double *curvature)
{
    double both = 0;
    for (int x = 0; x < n_x; x++)
        both += w[x] > 0 ? w[x] * cap[x] * cap[x] : 0;
    for (int x = 0; x < n_x; x++) {
        const double own = w[x] > 0 ? w[x] * cap[x] : 0;
        for (int to = 0; to < n_x; to++) {
            curvature[x * n_x + to] += both - own;
            curvature[to * n_x + x] -= own;
        }
        curvature[x * n_x + x] += w[x];
    }
}

/* Curvature of one row and letter: l (da/a - db/b)^2 a / 2 summed over x, and its caps. */
static void curve_row(const Solver *k, int row, int rhat, double *curvature)
{
    const int n_x = k->p.n_x;
    const size_t at = (size_t)row * k->n_block + (size_t)rhat * n_x;
    const double *alpha = (k->n_row_groups ? k->newton.own_alpha : k->newton.alpha) + at;
    double total = 0;
    for (int x = 0; x < n_x; x++)
        total += alpha[x];
    for (int x = 0; x < n_x; x++) {
        for (int to = 0; to < n_x; to++)
            curvature[x * n_x + to] = alpha[x] > 0 && alpha[to] > 0 ? -1 / total : 0;
        curvature[x * n_x + x] += alpha[x] > 0 ? 1 / alpha[x] : 0;
    }
    if (k->n_row_groups)
        add_caps(n_x, k->newton.cap_stiffness + at, k->cap + (size_t)row * n_x, curvature);
}

/* p(y | z, x) p(z, x) of one row and history; false where the row does not show it. */
static bool weigh_cells(const Solver *k, int row, int z, double *weights)
{
    const Problem *p = &k->p;
    const double *mass = p->mass + (size_t)z * p->n_x;
    if (p->row_of_z && p->row_of_z[p->view_of_row[row] * p->n_z + z] != row)
        return false;
    const double *law = p->law ? p->law + ((size_t)row * p->n_z + z) * p->n_x : NULL;
    for (int x = 0; x < p->n_x; x++)
        weights[x] = mass[x] * (law ? law[x] : 1);
    return true;
}

/* A += what a curvature of p(rhat, y, x) means for two histories. */
VECTORISED static void spread_curvature(int n_x, const double *curvature, const double *of_z,
                                        const double *of_other, double *a, int n)
{
    for (int x = 0; x < n_x; x++) {
        const double *own = curvature + (size_t)x * n_x;
        double *row = a + (size_t)x * n;
        for (int to = 0; to < n_x; to++)
            row[to] += of_z[x] * own[to] * of_other[to];
    }
}

/* What one row adds to A of one letter, where the second history is not after the first. */
static void add_row(Solver *k, int row, int rhat, double *a)
{
    const int n_z = k->p.n_z, n_x = k->p.n_x, n = n_z * n_x;
    double *curvature = k->newton.cells.curvature, *weights = k->newton.cells.weights;
    int n_shown = 0, *shown = k->newton.cells.shown;
    curve_row(k, row, rhat, curvature);
    for (int z = 0; z < n_z; z++)
        if (weigh_cells(k, row, z, weights + (size_t)n_shown * n_x))
            shown[n_shown++] = z;
    for (int i = 0; i < n_shown; i++)
        for (int j = 0; j <= i; j++)
            spread_curvature(n_x, curvature, weights + (size_t)i * n_x, weights + (size_t)j * n_x,
                             a + (size_t)shown[i] * n_x * n + (size_t)shown[j] * n_x, n);
    work(k, (double)n_shown * n_shown * n_x * n_x);
}

/* The curvature of full collusion and its caps in one history and letter, and s/c. */
static void add_history(Solver *k, const Iterate *it, int z, int rhat, double *a)
{
    const int n_x = k->p.n_x, n = k->p.n_z * n_x;
    const size_t at = (size_t)z * k->n_block + (size_t)rhat * n_x;
    const double *mass = k->p.mass + (size_t)z * n_x, *c = it->c + at, *s = it->s + at;
    const double own = full_curvature(k, it, z, rhat);
    const double total =
        k->is_full_exact ? k->mass_z[z] : it->history_joint[z * k->p.n_rhat + rhat];
    double *curvature = k->newton.cells.curvature;
    memset(curvature, 0, sizeof(double) * n_x * n_x);
    if (k->p.full_cap)
        add_caps(n_x, k->newton.cap_stiffness + (size_t)k->n_row_groups * k->n_block + at,
                 k->cap + (size_t)(k->n_row_groups + z) * n_x, curvature);
    for (int x = 0; x < n_x; x++)
        for (int to = 0; to < n_x; to++)
            curvature[x * n_x + to] -= own / total;
    double *block = a + (size_t)z * n_x * n + (size_t)z * n_x;
    spread_curvature(n_x, curvature, mass, mass, block, n);
    for (int x = 0; x < n_x; x++) {
        const double stiff = k->is_full_exact ? s[x] / c[x] + own : (s[x] + own) / c[x];
        block[(size_t)x * n + x] += mass[x] > 0 ? mass[x] * stiff : 1;
        k->newton.cells.has_massless |= !(mass[x] > 0);
    }
}

bool factorise_cells_together(Solver *k, const Iterate *it)
{
    Cells *cells = &k->newton.cells;
    const int n = k->newton.n_left;
    cells->has_massless = false;
    memset(k->newton.system, 0, sizeof(double) * n * n);
    for (int rhat = 0; rhat < k->p.n_rhat; rhat++) {
        double *a = cells->matrix, *factor = cells->factors + (size_t)rhat * n * n;
        memset(a, 0, sizeof(double) * n * n);
        for (int row = 0; row < k->p.n_rows; row++)
            add_row(k, row, rhat, a);
        for (int z = 0; z < k->p.n_z; z++)
            add_history(k, it, z, rhat, a);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i; j++)
                a[(size_t)j * n + i] = a[(size_t)i * n + j];
        if (!invert_factor(k, a, n, factor))
            return false;
        add_gram(k, factor, n, n, 1, k->newton.system);
    }
    mirror(k->newton.system, n);
    return cholesky(k, k->newton.system, n, k->newton.left, 1, NULL);
}

/* side <- A^-1 side. */
static void answer(const Solver *k, int rhat, double *side)
{
    const int n = k->newton.n_left;
    const double *factor = k->newton.cells.factors + (size_t)rhat * n * n;
    apply_lower(k, factor, n, side);
    apply_lower_transposed(k, factor, n, side);
}

/* The change of the cells that have mass; 0 for others. */
void solve_cells_together(Solver *k, const double *force, double *change)
{
    const int n_z = k->p.n_z, n_x = k->p.n_x, n = k->newton.n_left;
    double *sides = k->newton.cells.sides, *sums = k->newton.left;
    work(k, 2.0 * n * n * k->p.n_rhat);
    memset(sums, 0, sizeof(double) * n);
    for (int rhat = 0; rhat < k->p.n_rhat; rhat++) {
        double *side = sides + (size_t)rhat * n;
        for (int z = 0; z < n_z; z++)
            for (int x = 0; x < n_x; x++)
                side[z * n_x + x] = k->p.mass[(size_t)z * n_x + x] *
                                    force[(size_t)z * k->n_block + (size_t)rhat * n_x + x];
        answer(k, rhat, side);
        for (int i = 0; i < n; i++)
            sums[i] -= side[i];
    }
    solve_factored(k, k->newton.system, n, sums);
    for (int rhat = 0; rhat < k->p.n_rhat; rhat++) {
        double *side = sides + (size_t)rhat * n, *held = k->newton.cells.held;
        memcpy(held, sums, sizeof(double) * n);
        answer(k, rhat, held);
        for (int z = 0; z < n_z; z++)
            for (int x = 0; x < n_x; x++) {
                const int i = z * n_x + x;
                change[(size_t)z * k->n_block + (size_t)rhat * n_x + x] =
                    k->p.mass[i] > 0 ? -(side[i] + held[i]) : 0;
            }
    }
}
