/* Newton's system where histories are many: y = M^-1 (g + V u) out, history by history, then u.
 *
 * A row's force is u = F F' da: with 1/alpha = l/a + w, e and q as in newton.c,
 *
 *     F = alpha^-1/2 - 1 g',    g = alpha^-1/2 e + (q / sum_x alpha)^1/2 alpha^1/2,
 *
 * where q is 0 without caps. What is left is (1 + F' S F) w = -F' t for u = F w, with
 * S = V' M^-1 V + (rows' own response): positive definite. V are the cells' answers to y.
 *
 * Where full collusion is capped, M is positive definite in y2 and negative definite in y1. With y2
 * in front, M = L J L' and V' M^-1 V = V' L^-T J L^-1 V, J being 1 for y2 and -1 for y1.
 */
#include "kernel.h"

#include <math.h>
#include <string.h>

/* -- histories ------------------------------------------------------------------------------- */

/* L^-1 of one capped history, from its block over (y1, y2), for (y2, y1). */
static bool factorise_capped_history(const Solver *k, const double *block, double *inverse)
{
    const int n = k->p.n_rhat, n_both = 2 * n;
    double *own = k->newton.history_scratch, *inverse_own = own + n * n;
    double *coupled = inverse_own + n * n, *inverse_rest = coupled + n * n;
    for (int i = 0; i < n; i++)
        memcpy(own + i * n, block + (n + i) * n_both + n, sizeof(double) * n);
    if (!invert_factor(k, own, n, inverse_own))
        return false;
    memset(coupled, 0, sizeof(double) * n * n);
    for (int i = 0; i < n; i++)
        for (int m = 0; m <= i; m++)
            for (int j = 0; j < n; j++)
                coupled[i * n + j] += inverse_own[i * n + m] * block[(n + m) * n_both + j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            own[i * n + j] = -block[i * n_both + j];
            for (int m = 0; m < n; m++)
                own[i * n + j] += coupled[m * n + i] * coupled[m * n + j];
        }
    if (!invert_factor(k, own, n, inverse_rest))
        return false;
    memset(inverse, 0, sizeof(double) * n_both * n_both);
    for (int i = 0; i < n; i++) {
        memcpy(inverse + i * n_both, inverse_own + i * n, sizeof(double) * n);
        memcpy(inverse + (n + i) * n_both + n, inverse_rest + i * n, sizeof(double) * n);
        for (int m = 0; m < n; m++) {
            double both = 0;
            for (int j = 0; j <= i; j++)
                both += inverse_rest[i * n + j] * coupled[m * n + j];
            for (int j = 0; j <= m; j++)
                inverse[(n + i) * n_both + j] -= both * inverse_own[m * n + j];
        }
    }
    return true;
}

bool factorise_histories(Solver *k)
{
    const int n = n_parts(&k->p) * k->p.n_rhat;
    for (int z = 0; z < k->p.n_z; z++) {
        const double *block = k->newton.history_block + (size_t)z * n * n;
        double *inverse = k->newton.history_factor + (size_t)z * n * n;
        if (!(k->p.full_cap ? factorise_capped_history(k, block, inverse)
                            : invert_factor(k, block, n, inverse)))
            return false;
    }
    return true;
}

/* y = M^-1 y, history by history. */
static void divide_by_history(const Solver *k, double *y)
{
    const int n_rhat = k->p.n_rhat, parts = n_parts(&k->p), n = parts * n_rhat;
    double *given = k->newton.total, *solved = given + n;
    for (int z = 0; z < k->p.n_z; z++) {
        const double *inverse = k->newton.history_factor + (size_t)z * n * n;
        for (int i = 0; i < n; i++) { /* the last part first */
            given[i] = y[((size_t)(parts - 1 - i / n_rhat) * k->p.n_z + z) * n_rhat + i % n_rhat];
            solved[i] = 0;
        }
        for (int i = 0; i < n; i++) {
            const double *row = inverse + (size_t)i * n;
            double entry = 0;
            for (int j = 0; j <= i; j++)
                entry += row[j] * given[j];
            for (int j = 0; j <= i; j++)
                solved[j] += (i < n_rhat ? entry : -entry) * row[j];
        }
        for (int i = 0; i < n; i++)
            y[((size_t)(parts - 1 - i / n_rhat) * k->p.n_z + z) * n_rhat + i % n_rhat] = solved[i];
    }
}

/* -- rows ------------------------------------------------------------------------------------ */

/* L^-1 V of one history for a row that it shows, [rhat][rhat', x], with V = massive (1 - share')
 * and, for y2, v V. Those of the second part of L lie n_apart further on. */
VECTORISED static void couple_history(const Solver *k, int z, double *blocks, size_t n_apart)
{
    const int n_x = k->p.n_x, n_rhat = k->p.n_rhat, n = n_parts(&k->p) * n_rhat;
    const double *massive = k->newton.massive + (size_t)z * k->n_block;
    const double *share = k->newton.share + (size_t)z * k->n_block;
    const double *lean = k->p.full_cap ? k->newton.lean + (size_t)z * k->n_block : NULL;
    const double *inverse = k->newton.history_factor + (size_t)z * n * n;
    double *moved = k->newton.total;
    for (int i = 0; i < n; i++) {
        const double *of_y2 = inverse + (size_t)i * n, *of_y1 = of_y2 + n - n_rhat;
        double *block = blocks + i / n_rhat * n_apart + (size_t)(i % n_rhat) * k->n_block;
        memset(moved, 0, sizeof(double) * n_x);
        for (int j = 0; j < n_rhat; j++)
            for (int x = 0; x < n_x; x++) {
                const double force = of_y1[j] + (lean ? of_y2[j] * lean[j * n_x + x] : 0);
                block[j * n_x + x] = force * massive[j * n_x + x];
                moved[x] += block[j * n_x + x];
            }
        for (int j = 0; j < n_rhat; j++)
            for (int x = 0; x < n_x; x++)
                block[j * n_x + x] -= moved[x] * share[j * n_x + x];
    }
}

bool shows(const Problem *p, int z, int row)
{
    return p->row_of_z[p->view_of_row[row] * p->n_z + z] == row;
}

/* J of a part of L. */
static double sign_of_part(int part)
{
    return part ? -1 : 1;
}

/* V' M^-1 V where a single row is shown by every history. */
static void gram_of_all(Solver *k, const double *coupling)
{
    const int n = k->newton.n_left, n_each = k->p.n_z * k->p.n_rhat;
    memset(k->newton.system, 0, sizeof(double) * n * n);
    for (int part = 0; part < n_parts(&k->p); part++)
        add_gram(k, coupling + (size_t)part * n_each * n, n_each, n, sign_of_part(part),
                 k->newton.system);
    mirror(k->newton.system, n);
}

/* The block of the histories that two rows share: gathered, then its Gram matrix. */
static void add_shared(Solver *k, const double *coupling, int row, int other, double *product)
{
    const Problem *p = &k->p;
    const size_t n_each = (size_t)p->n_rhat * k->n_block;
    memset(product, 0, sizeof(double) * k->n_block * k->n_block);
    for (int part = 0; part < n_parts(p); part++) {
        const double *of_part = coupling + (size_t)part * p->n_z * n_each;
        int n_shared = 0;
        for (int z = 0; z < p->n_z; z++)
            if (shows(p, z, row) && shows(p, z, other))
                memcpy(k->newton.gathered + n_each * n_shared++, of_part + n_each * z,
                       sizeof(double) * n_each);
        add_gram(k, k->newton.gathered, n_shared * p->n_rhat, k->n_block, sign_of_part(part),
                 product);
    }
    mirror(product, k->n_block);
}

/* The same where every view is a function of the history: each history has the same block for all
 * rows that it shows, and two rows meet in the histories that they share. */
static void gram_of_shared(Solver *k, const double *coupling)
{
    const Problem *p = &k->p;
    double *product = k->newton.gathered + (size_t)p->n_rhat * k->n_block * p->n_z;
    for (int row = 0; row < p->n_rows; row++)
        for (int other = row; other < p->n_rows; other++) {
            work(k, p->n_z);
            add_shared(k, coupling, row, other, product);
            for (int i = 0; i < k->n_block; i++) {
                const size_t in_row = ((size_t)row * k->n_block + i) * k->newton.n_left;
                const size_t in_other = ((size_t)other * k->n_block + i) * k->newton.n_left;
                const double *from = product + (size_t)i * k->n_block;
                memcpy(k->newton.system + in_row + other * k->n_block, from,
                       sizeof(double) * k->n_block);
                memcpy(k->newton.system + in_other + row * k->n_block, from,
                       sizeof(double) * k->n_block);
            }
        }
}

/* The same where views are laws: every history may show every row. */
static void gram_of_laws(Solver *k, const double *coupling)
{
    const Problem *p = &k->p;
    const int n_x = p->n_x, n_rhat = p->n_rhat, n = k->newton.n_left;
    memset(k->newton.system, 0, sizeof(double) * n * n);
    for (int part = 0; part < n_parts(p); part++) {
        const double *own = coupling + (size_t)part * p->n_z * n_rhat * k->n_block;
        double *out = k->newton.gathered;
        for (int i = 0; i < p->n_z * n_rhat; i++, own += k->n_block)
            for (int row = 0; row < p->n_rows; row++) {
                const double *law = p->law + ((size_t)row * p->n_z + i / n_rhat) * n_x;
                work(k, k->n_block);
                for (int j = 0; j < n_rhat; j++)
                    for (int x = 0; x < n_x; x++)
                        *out++ = law[x] * own[j * n_x + x];
            }
        add_gram(k, k->newton.gathered, p->n_z * n_rhat, n, sign_of_part(part), k->newton.system);
    }
    mirror(k->newton.system, n);
}

/* system <- F' system F in place, one (row, rhat) after the other, then from the right. */
VECTORISED static void scale_and_hold(Solver *k)
{
    const int n_x = k->p.n_x, n = k->newton.n_left, n_own = n / n_x;
    const double *scale = k->newton.scale, *hold = k->newton.hold;
    double *system = k->newton.system, *all = k->newton.left;
    for (int own = 0; own < n_own; own++) {
        double *rows = system + (size_t)own * n_x * n;
        work(k, 4.0 * n_x * n);
        memset(all, 0, sizeof(double) * n);
        for (int x = 0; x < n_x; x++)
            for (int i = 0; i < n; i++)
                all[i] += rows[(size_t)x * n + i];
        for (int x = 0; x < n_x; x++)
            for (int i = 0; i < n; i++)
                rows[(size_t)x * n + i] =
                    scale[own * n_x + x] * rows[(size_t)x * n + i] - hold[own * n_x + x] * all[i];
    }
    for (int i = 0; i < n; i++)
        for (int own = 0; own < n_own; own++) {
            double *entries = system + (size_t)i * n + own * n_x, total = 0;
            for (int x = 0; x < n_x; x++)
                total += entries[x];
            for (int x = 0; x < n_x; x++)
                entries[x] = scale[own * n_x + x] * entries[x] - hold[own * n_x + x] * total;
        }
}

bool factorise_history_first(Solver *k)
{
    const Problem *p = &k->p;
    const int n_x = p->n_x, n_own = p->n_rows * p->n_rhat, n = k->newton.n_left;
    const size_t n_each = (size_t)p->n_rhat * k->n_block;
    double *system = k->newton.system, *coupling = k->newton.coupling;
    for (int z = 0; z < p->n_z; z++) {
        work(k, 2.0 * n_parts(p) * n_each);
        couple_history(k, z, coupling + (size_t)z * n_each, p->n_z * n_each);
    }
    if (!p->row_of_z)
        gram_of_laws(k, coupling);
    else if (p->n_rows == 1)
        gram_of_all(k, coupling);
    else
        gram_of_shared(k, coupling);
    for (int i = 0; i < n_own; i++)
        for (int j = 0; j < n_own; j++)
            for (int x = 0; x < n_x; x++)
                system[(size_t)(i * n_x + x) * n + j * n_x + x] +=
                    k->newton.record_response[((size_t)i * n_own + j) * n_x + x];
    scale_and_hold(k);
    for (int i = 0; i < n; i++)
        system[(size_t)i * n + i] += 1;
    return cholesky(k, system, n, k->newton.left);
}

/* rows <- factor F' rows. */
static void hold_rows(const Solver *k, double factor, double *rows)
{
    const int n_x = k->p.n_x;
    for (int own = 0; own < k->p.n_rows * k->p.n_rhat; own++) {
        const double *scale = k->newton.scale + own * n_x, *hold = k->newton.hold + own * n_x;
        double total = 0;
        for (int x = 0; x < n_x; x++)
            total += rows[own * n_x + x];
        for (int x = 0; x < n_x; x++)
            rows[own * n_x + x] = factor * (scale[x] * rows[own * n_x + x] - hold[x] * total);
    }
}

/* rows <- F rows. */
static void force_rows(const Solver *k, double *rows)
{
    const int n_x = k->p.n_x;
    for (int own = 0; own < k->p.n_rows * k->p.n_rhat; own++) {
        const double *scale = k->newton.scale + own * n_x, *hold = k->newton.hold + own * n_x;
        double total = 0;
        for (int x = 0; x < n_x; x++)
            total += hold[x] * rows[own * n_x + x];
        for (int x = 0; x < n_x; x++)
            rows[own * n_x + x] = scale[x] * rows[own * n_x + x] - total;
    }
}

/* y and, where there are rows, u. */
void solve_history_first(Solver *k)
{
    Newton *n = &k->newton;
    const int n_y = n_parts(&k->p) * k->p.n_z * k->p.n_rhat;
    memcpy(n->y, n->by_history, sizeof(double) * n_y);
    divide_by_history(k, n->y);
    if (!k->p.n_rows)
        return;
    respond(k, n->massive, NULL, n->y, NULL, NULL, NULL, n->u);
    for (int i = 0; i < k->n_row_cells; i++)
        n->u[i] += n->by_row[i];
    hold_rows(k, -1, n->u);
    solve_factored(k, n->system, n->n_left, n->u);
    force_rows(k, n->u);
    respond(k, n->massive, NULL, NULL, n->u, NULL, n->by_history, NULL);
    divide_by_history(k, n->by_history);
    for (int i = 0; i < n_y; i++)
        n->y[i] += n->by_history[i];
}
