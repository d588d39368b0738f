/* Newton's system where histories are many: y = M^-1 (g + V u) out, history by history, then u.
 *
 * A row's force is u = F F' da: with 1/alpha = l/a + w, e and q as in newton.c,
 *
 *     F = alpha^-1/2 - 1 g',    g = alpha^-1/2 e + (q / sum_x alpha)^1/2 alpha^1/2,
 *
 * where q is 0 without caps. What is left is (1 + F' S F) w = -F' t for u = F w, with
 * S = V' M^-1 V + (rows' own response): positive definite. V are the cells' answers to y.
 *
 * Where full collusion is capped, the letters that are held have a second y. M is positive definite
 * in y2 and in the y of the other letters, and negative definite in y1. With the former in front,
 * M = L J L' and V' M^-1 V = V' L^-T J L^-1 V, J being 1 for one y of each letter, and -1 for y1.
 */
#include "kernel.h"

#include <math.h>
#include <string.h>

/* -- histories ------------------------------------------------------------------------------- */

static void list_leant(Solver *k)
{
    int n = 0;
    for (int z = 0; z < k->p.n_z; z++) {
        k->newton.n_leant[z] = n;
        for (int rhat = 0; rhat < k->p.n_rhat; rhat++)
            if (is_leant(k, z, rhat))
                k->newton.leant[n++] = rhat;
    }
    k->newton.n_leant[k->p.n_z] = n;
}

/* The letters of one history with a second y; how many. */
static int leant_of(const Solver *k, int z, const int **letters)
{
    *letters = k->newton.leant + k->newton.n_leant[z];
    return k->newton.n_leant[z + 1] - k->newton.n_leant[z];
}

/* Place in a history's block, over (y1, y2), of a letter's y in front. */
static int in_front(const Solver *k, int z, int rhat)
{
    return is_leant(k, z, rhat) ? k->p.n_rhat + rhat : rhat;
}

/* L^-1 of one capped history. */
static bool factorise_capped_history(const Solver *k, int z, const double *block, double *inverse)
{
    const int n = k->p.n_rhat, n_both = 2 * n;
    const int *leant, n_leant = leant_of(k, z, &leant);
    double *own = k->newton.history_scratch, *inverse_own = own + n * n;
    double *coupled = inverse_own + n * n, *inverse_rest = coupled + n * n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            own[i * n + j] = block[in_front(k, z, i) * n_both + in_front(k, z, j)];
    if (!invert_factor(k, own, n, inverse_own))
        return false;
    memset(inverse, 0, sizeof(double) * n_both * n_both);
    for (int i = 0; i < n; i++)
        memcpy(inverse + i * n_both, inverse_own + i * n, sizeof(double) * n);
    if (!n_leant)
        return true;
    memset(coupled, 0, sizeof(double) * n * n);
    for (int i = 0; i < n; i++)
        for (int m = 0; m <= i; m++)
            for (int j = 0; j < n_leant; j++)
                coupled[i * n + j] +=
                    inverse_own[i * n + m] * block[in_front(k, z, m) * n_both + leant[j]];
    for (int i = 0; i < n_leant; i++)
        for (int j = 0; j < n_leant; j++) {
            own[i * n_leant + j] = -block[leant[i] * n_both + leant[j]];
            for (int m = 0; m < n; m++)
                own[i * n_leant + j] += coupled[m * n + i] * coupled[m * n + j];
        }
    if (!invert_factor(k, own, n_leant, inverse_rest))
        return false;
    for (int i = 0; i < n_leant; i++) {
        memcpy(inverse + (n + i) * n_both + n, inverse_rest + i * n_leant,
               sizeof(double) * n_leant);
        for (int m = 0; m < n; m++) {
            double both = 0;
            for (int j = 0; j <= i; j++)
                both += inverse_rest[i * n_leant + j] * coupled[m * n + j];
            for (int j = 0; j <= m; j++)
                inverse[(n + i) * n_both + j] -= both * inverse_own[m * n + j];
        }
    }
    return true;
}

bool factorise_histories(Solver *k)
{
    const int n = n_parts(&k->p) * k->p.n_rhat;
    list_leant(k);
    for (int z = 0; z < k->p.n_z; z++) {
        const double *block = k->newton.history_block + (size_t)z * n * n;
        double *inverse = k->newton.history_factor + (size_t)z * n * n;
        if (!(k->p.full_cap ? factorise_capped_history(k, z, block, inverse)
                            : invert_factor(k, block, n, inverse)))
            return false;
    }
    return true;
}

/* y = M^-1 y, history by history. */
static void divide_by_history(const Solver *k, double *y)
{
    const int n_rhat = k->p.n_rhat, stride = n_parts(&k->p) * n_rhat;
    const size_t n_each = (size_t)k->p.n_z * n_rhat;
    double *given = k->newton.total, *solved = given + stride;
    for (int z = 0; z < k->p.n_z; z++) {
        const int *leant, n = n_rhat + leant_of(k, z, &leant);
        const double *inverse = k->newton.history_factor + (size_t)z * stride * stride;
        double *y1 = y + z * n_rhat, *y2 = y1 + n_each;
        for (int i = 0; i < n; i++) {
            const bool is_front = i < n_rhat && is_leant(k, z, i);
            given[i] = is_front ? y2[i] : y1[i < n_rhat ? i : leant[i - n_rhat]];
            solved[i] = 0;
        }
        for (int i = 0; i < n; i++) {
            const double *row = inverse + (size_t)i * stride;
            double entry = 0;
            for (int j = 0; j <= i; j++)
                entry += row[j] * given[j];
            for (int j = 0; j <= i; j++)
                solved[j] += (i < n_rhat ? entry : -entry) * row[j];
        }
        for (int i = 0; i < n; i++) {
            const bool is_front = i < n_rhat && is_leant(k, z, i);
            *(is_front ? y2 + i : y1 + (i < n_rhat ? i : leant[i - n_rhat])) = solved[i];
        }
    }
}

/* -- rows ------------------------------------------------------------------------------------ */

/* L^-1 V of one history for a row that it shows, [rhat][rhat', x], with V = massive (1 - share')
 * and, for y2, v V. Those of y1 behind y2 come into ``behind``. */
VECTORISED static void couple_history(const Solver *k, int z, double *front, double *behind)
{
    const int n_x = k->p.n_x, n_rhat = k->p.n_rhat, stride = n_parts(&k->p) * n_rhat;
    const int *leant, n = n_rhat + leant_of(k, z, &leant);
    const double *massive = k->newton.massive + (size_t)z * k->n_block;
    const double *share = k->newton.share + (size_t)z * k->n_block;
    const double *lean = k->p.full_cap ? k->newton.lean + (size_t)z * k->n_block : NULL;
    const double *inverse = k->newton.history_factor + (size_t)z * stride * stride;
    double *moved = k->newton.total;
    for (int i = 0; i < n; i++) {
        const double *row = inverse + (size_t)i * stride, *of_y1 = row + n_rhat;
        double *block = i < n_rhat ? front + (size_t)i * k->n_block
                                   : behind + (size_t)(i - n_rhat) * k->n_block;
        memset(moved, 0, sizeof(double) * n_x);
        for (int j = 0; j < n_rhat; j++) {
            const bool has_second = is_leant(k, z, j);
            const double all = has_second ? *of_y1++ : row[j], leaning = has_second ? row[j] : 0;
            for (int x = 0; x < n_x; x++) {
                const double force = all + (lean ? leaning * lean[j * n_x + x] : 0);
                block[j * n_x + x] = force * massive[j * n_x + x];
                moved[x] += block[j * n_x + x];
            }
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

/* Rows of L^-1 V of a history and part. */
static int n_rows_of(const Solver *k, int z, int part)
{
    return part ? k->newton.n_leant[z + 1] - k->newton.n_leant[z] : k->p.n_rhat;
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
        add_gram(k, coupling + (size_t)part * n_each * n,
                 part ? k->newton.n_leant[k->p.n_z] : n_each, n, sign_of_part(part),
                 k->newton.system);
    mirror(k->newton.system, n);
}

/* How many histories show both rows. */
static int n_showing(const Problem *p, int row, int other)
{
    int n = 0;
    for (int z = 0; z < p->n_z; z++)
        n += shows(p, z, row) && shows(p, z, other);
    return n;
}

static double *block_of(const Solver *k, int row, int other)
{
    return k->newton.system + ((size_t)row * k->newton.n_left + other) * k->n_block;
}

/* to += from, blocks of the system. */
static void add_block(const Solver *k, const double *from, double *to)
{
    for (int i = 0; i < k->n_block; i++)
        for (int j = 0; j < k->n_block; j++)
            to[(size_t)i * k->newton.n_left + j] += from[(size_t)i * k->newton.n_left + j];
}

/* Add up the blocks of the rows of a finer view into which a row falls; whether there is one. */
static bool add_parts(const Solver *k, int row)
{
    const Problem *p = &k->p;
    for (int view = 0; view < p->n_views; view++) {
        int n_left = n_showing(p, row, row);
        for (int part = 0; part < row; part++)
            if (p->view_of_row[part] == view && n_showing(p, part, row) == n_showing(p, part, part))
                n_left -= n_showing(p, part, part);
        for (int part = 0; !n_left && part < row; part++)
            if (p->view_of_row[part] == view && n_showing(p, part, row))
                add_block(k, block_of(k, part, part), block_of(k, row, row));
        if (!n_left)
            return true;
    }
    return false;
}

/* The block of the histories that two rows share: gathered, then its Gram matrix. */
static void add_shared(Solver *k, const double *coupling, int row, int other)
{
    const Problem *p = &k->p;
    const size_t n_each = (size_t)p->n_rhat * k->n_block;
    double *product = k->newton.gathered + n_each * p->n_z, *to = block_of(k, row, other);
    memset(product, 0, sizeof(double) * k->n_block * k->n_block);
    for (int part = 0; part < n_parts(p); part++) {
        const double *of_part = coupling + (size_t)part * p->n_z * n_each;
        int n_shared = 0;
        for (int z = 0; z < p->n_z; z++) {
            const size_t n_own = n_rows_of(k, z, part);
            if (shows(p, z, row) && shows(p, z, other)) {
                memcpy(k->newton.gathered + (size_t)k->n_block * n_shared, of_part,
                       sizeof(double) * n_own * k->n_block);
                n_shared += n_own;
            }
            of_part += n_own * k->n_block;
        }
        add_gram(k, k->newton.gathered, n_shared, k->n_block, sign_of_part(part), product);
    }
    mirror(product, k->n_block);
    for (int i = 0; i < k->n_block; i++)
        memcpy(to + (size_t)i * k->newton.n_left, product + (size_t)i * k->n_block,
               sizeof(double) * k->n_block);
}

/* The same where every view is a function of the history: each history has the same block for all
 * rows that it shows, and two rows meet in the histories that they share. */
static void gram_of_shared(Solver *k, const double *coupling)
{
    const Problem *p = &k->p;
    memset(k->newton.system, 0, sizeof(double) * k->newton.n_left * k->newton.n_left);
    for (int row = 0; row < p->n_rows; row++) {
        if (!add_parts(k, row))
            add_shared(k, coupling, row, row);
        for (int other = row + 1; other < p->n_rows; other++) {
            const int n_shared = n_showing(p, row, other);
            work(k, p->n_z);
            if (!n_shared)
                continue;
            if (n_shared == n_showing(p, row, row))
                add_block(k, block_of(k, row, row), block_of(k, row, other));
            else
                add_shared(k, coupling, row, other);
            add_block(k, block_of(k, row, other), block_of(k, other, row));
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
        int n_all = 0;
        for (int z = 0; z < p->n_z; n_all += n_rows_of(k, z++, part))
            for (int i = 0; i < n_rows_of(k, z, part); i++, own += k->n_block)
                for (int row = 0; row < p->n_rows; row++) {
                    const double *law = p->law + ((size_t)row * p->n_z + z) * n_x;
                    work(k, k->n_block);
                    for (int j = 0; j < n_rhat; j++)
                        for (int x = 0; x < n_x; x++)
                            *out++ = law[x] * own[j * n_x + x];
                }
        add_gram(k, k->newton.gathered, n_all, n, sign_of_part(part), k->newton.system);
    }
    mirror(k->newton.system, n);
}

/* system <- F' system F in place, one (row, rhat) after the other, then from the right, for the
 * blocks of two rows that meet. */
VECTORISED static void scale_and_hold(Solver *k)
{
    const int n_x = k->p.n_x, n = k->newton.n_left, n_rhat = k->p.n_rhat, n_rows = k->p.n_rows;
    const double *scale = k->newton.scale, *hold = k->newton.hold;
    double *system = k->newton.system, *all = k->newton.left;
    for (int i = 0; i < n_rows * n_rhat * n_rows; i++) {
        const int own = i / n_rows, other = i % n_rows;
        double *rows = system + (size_t)own * n_x * n + other * k->n_block;
        if (k->newton.meets && !k->newton.meets[own / n_rhat * n_rows + other])
            continue;
        work(k, 4.0 * n_x * k->n_block);
        memset(all, 0, sizeof(double) * k->n_block);
        for (int x = 0; x < n_x; x++)
            for (int j = 0; j < k->n_block; j++)
                all[j] += rows[(size_t)x * n + j];
        for (int x = 0; x < n_x; x++)
            for (int j = 0; j < k->n_block; j++)
                rows[(size_t)x * n + j] =
                    scale[own * n_x + x] * rows[(size_t)x * n + j] - hold[own * n_x + x] * all[j];
    }
    for (int i = 0; i < n; i++)
        for (int own = 0; own < n / n_x; own++) {
            double *entries = system + (size_t)i * n + own * n_x, total = 0;
            if (k->newton.meets && !k->newton.meets[i / k->n_block * n_rows + own / n_rhat])
                continue;
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
        couple_history(k, z, coupling + z * n_each,
                       coupling + p->n_z * n_each + (size_t)k->newton.n_leant[z] * k->n_block);
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
    return cholesky(k, system, n, k->newton.left, p->n_rows, k->newton.meets);
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
    if (n->meets)
        solve_factored_blocks(k, n->system, k->n_block, k->p.n_rows, n->meets, n->u);
    else
        solve_factored(k, n->system, n->n_left, n->u);
    force_rows(k, n->u);
    respond(k, n->massive, NULL, NULL, n->u, NULL, n->by_history, NULL);
    divide_by_history(k, n->by_history);
    for (int i = 0; i < n_y; i++)
        n->y[i] += n->by_history[i];
}
