/* Newton's system where views have many letters: record by record and letter by letter.
 *
 * Given the multipliers nu of the sums, the letters rhat of one record x do not meet. With h the
 * answer of a cell as mass, W = p(y | z, x) and alpha = a/l, the unknowns of one record are u and
 * nu; y and beta = l db/b belong to all records:
 *
 *     D u + W h nu + W h y + alpha beta = -W h f,    D = alpha + W h W'    for each rhat,
 *     sum_rhat h (W' u + nu + y)        = 0,
 *     sum_x h (W' u + nu) - M y         = -sum_x h f,
 *     sum_x alpha u                     = 0.
 *
 * Eliminating u leaves N = sum_rhat B for nu, B = (1/h + W' W/alpha)^-1, and eliminating nu leaves
 *
 *     M  +  sum_x P' P  +  sum_x T' T,
 *
 * P = L^-1 [W h | alpha] for D = L L', one block for each rhat, and T = L^-1 [B | -C] for N = L L'
 * over all rhat, where C = h W' D^-1 alpha is a block of P' P. All are sums of positive terms, so
 * nothing cancels. Forces f are shifted so that sum_rhat h f = 0.
 *
 * Caps (see newton.c) give y a second part, with columns W h v and B v, and beta one, with columns
 * e in the place of alpha. M is then -sum_x h and its like, and more than rounding cancels.
 */
#include "kernel.h"

#include <math.h>
#include <string.h>

/* Unknowns of one letter that are left: [z | row]; without [z] where y is left to refinement. */
static int n_shared(const Solver *k)
{
    return k->newton.n_left / k->p.n_rhat;
}

static int n_of_y(const Solver *k)
{
    return n_parts(&k->p) * k->newton.n_coupled;
}

/* W of one record, [row][z]. */
static const double *views_of(const Solver *k, int x)
{
    return k->newton.letter.seen + (size_t)x * k->p.n_rows * k->p.n_z;
}

static double seen_of(const Problem *p, int row, int z, int x)
{
    if (p->law)
        return p->law[((size_t)row * p->n_z + z) * p->n_x + x];
    return p->row_of_z[p->view_of_row[row] * p->n_z + z] == row;
}

/* W of every record: it stays. */
void gather_views(Solver *k)
{
    double *seen = k->newton.letter.seen;
    for (int x = 0; x < k->p.n_x; x++)
        for (int row = 0; row < k->p.n_rows; row++)
            for (int z = 0; z < k->p.n_z; z++)
                *seen++ = seen_of(&k->p, row, z, x);
}

/* h and alpha, v and e, of one record and letter. */
static void gather_answers(const Solver *k, int x, int rhat, Letter *l)
{
    const int n_x = k->p.n_x;
    for (int z = 0; z < k->p.n_z; z++) {
        const size_t at = (size_t)z * k->n_block + rhat * n_x + x;
        l->answer[z] = k->newton.massive[at];
        l->lean[z] = k->p.full_cap ? k->newton.lean[at] : 0;
    }
    for (int row = 0; row < k->p.n_rows; row++) {
        const size_t at = ((size_t)row * k->p.n_rhat + rhat) * n_x + x;
        l->alpha[row] = k->newton.alpha[at];
        l->drift[row] = k->p.row_cap ? k->newton.drift[at] : 0;
    }
}

/* The inverse factor of D. A row and x of no mass is cut off by a unit on the diagonal. */
static bool factorise_rows(Solver *k, const double *seen, const double *answer, const double *alpha,
                           double *inverse)
{
    const int n_z = k->p.n_z, n_rows = k->p.n_rows, n = n_z + n_rows;
    double *columns = k->newton.letter.columns;
    memset(columns, 0, sizeof(double) * n * n_rows);
    for (int row = 0; row < n_rows; row++) {
        double *column = columns + (size_t)row * n;
        for (int z = 0; z < n_z; z++)
            column[z] = sqrt(answer[z]) * seen[(size_t)row * n_z + z];
        column[n_z + row] = alpha[row] > 0 ? sqrt(alpha[row]) : 1;
    }
    return invert_factor_of_gram(k, columns, n, n_rows, k->newton.letter.scratch, inverse);
}

/* P of one record and letter, [row][z | row'], P' P, and C = (W h)' D^-1 alpha, [z][row]. */
static void couple_rows(Solver *k, const double *seen, const double *inverse)
{
    Letter *l = &k->newton.letter;
    const int n_z = k->p.n_z, n_rows = k->p.n_rows, of_rows = n_parts(&k->p) * n_z;
    const int n = of_rows + (k->p.row_cap ? 2 : 1) * n_rows;
    double *coupled = l->coupled;
    memset(coupled, 0, sizeof(double) * n_rows * n);
    for (int row = 0; row < n_rows; row++) {
        double *own = coupled + (size_t)row * n;
        for (int z = 0; z < n_z; z++)
            own[z] = seen[(size_t)row * n_z + z] * l->answer[z];
        for (int z = 0; k->p.full_cap && z < n_z; z++)
            own[n_z + z] = own[z] * l->lean[z];
        own[of_rows + row] = l->alpha[row];
        if (k->p.row_cap)
            own[of_rows + n_rows + row] = l->drift[row];
    }
    multiply_lower(k, inverse, n_rows, coupled, n);
    gram_of_columns(k, coupled, n_rows, n, n_z - k->newton.n_coupled, l->product);
    multiply_columns(k, coupled, n_rows, n, n_z, l->cross);
}

/* F of one record and letter, [z][z'], B = F' F: F = L^-1 h^1/2, 1 + h^1/2 W' W/alpha h^1/2 = L L'.
 */
static bool factorise_sums(Solver *k, const double *seen, const double *answer, const double *alpha,
                           double *factor)
{
    const int n_z = k->p.n_z, n_rows = k->p.n_rows, n = n_z + n_rows;
    double *columns = k->newton.letter.columns;
    memset(columns, 0, sizeof(double) * n * n_z);
    for (int z = 0; z < n_z; z++) {
        double *column = columns + (size_t)z * n;
        for (int row = 0; row < n_rows; row++)
            if (alpha[row] > 0)
                column[row] = seen[(size_t)row * n_z + z] * sqrt(answer[z] / alpha[row]);
        column[n_rows + z] = 1;
    }
    if (!invert_factor_of_gram(k, columns, n, n_z, k->newton.letter.scratch, factor))
        return false;
    for (int z = 0; z < n_z; z++)
        for (int to = 0; to <= z; to++)
            factor[(size_t)z * n_z + to] *= sqrt(answer[to]);
    return true;
}

/* Where full collusion is capped, -h + h W' D^-1 W h = -B in the place of its two terms. */
static void join_answers(Solver *k)
{
    Letter *l = &k->newton.letter;
    const int n_z = k->p.n_z, n = n_shared(k);
    for (int z = 0; z < n_z; z++)
        for (int to = 0; to < n_z; to++) {
            const double answer = -l->sums[(size_t)z * n_z + to];
            l->product[(size_t)z * n + to] = answer;
            l->product[(size_t)z * n + n_z + to] = answer * l->lean[to];
            l->product[(size_t)(n_z + to) * n + z] = answer * l->lean[to];
        }
}

/* One letter of one record: P' P into the system, [B | -C] into T, F into the factor of N. */
static bool add_letter(Solver *k, int x, int rhat, double *coupling)
{
    Letter *l = &k->newton.letter;
    const int n_z = k->p.n_z, n_rows = k->p.n_rows, n = n_shared(k), n_left = k->newton.n_left;
    double *inverse = k->newton.record_factor + ((size_t)x * k->p.n_rhat + rhat) * n_rows * n_rows;
    double *factor = l->factors + (size_t)rhat * n_z * n_z;
    const double *seen = views_of(k, x);
    gather_answers(k, x, rhat, l);
    if (!factorise_rows(k, seen, l->answer, l->alpha, inverse))
        return false;
    couple_rows(k, seen, inverse);
    if (!factorise_sums(k, seen, l->answer, l->alpha, factor))
        return false;
    if (k->newton.n_coupled)
        gram(k, factor, n_z, n_z, l->sums);
    if (k->p.full_cap)
        join_answers(k);
    for (int i = 0; i < n; i++) {
        double *row = k->newton.system + (size_t)(rhat * n + i) * n_left + rhat * n;
        for (int j = 0; j < n; j++)
            row[j] += l->product[(size_t)i * n + j];
    }
    const int n_rest = n - n_of_y(k), n_cross = n_rest + (k->p.full_cap ? n_z : 0);
    for (int z = 0; z < n_z; z++) {
        double *row = coupling + (size_t)z * n_left + rhat * n;
        memcpy(row, l->sums + (size_t)z * n_z, sizeof(double) * k->newton.n_coupled);
        for (int to = 0; k->p.full_cap && to < n_z; to++)
            row[n_z + to] = row[to] * l->lean[to];
        for (int i = 0; i < n_rest; i++)
            row[n - n_rest + i] = -l->cross[(size_t)z * n_cross + n_cross - n_rest + i];
    }
    return true;
}

/* The inverse factor of N = sum F' F, [z][z']. A cell of no mass is cut off by a unit. */
static bool factorise_all_sums(Solver *k, double *inverse)
{
    const int n_z = k->p.n_z, n = k->p.n_rhat * n_z;
    const double *factors = k->newton.letter.factors;
    double *columns = k->newton.letter.columns;
    for (int z = 0; z < n_z; z++) {
        double *column = columns + (size_t)z * n, size = 0;
        for (int i = 0; i < n; i++) {
            column[i] = factors[(size_t)i * n_z + z];
            size += fabs(column[i]);
        }
        if (!(size > 0))
            column[z] = 1;
    }
    return invert_factor_of_gram(k, columns, n, n_z, k->newton.letter.scratch, inverse);
}

/* B - B N^-1 B of one letter, between two of its unknowns, as the sum of B N^-1 B' over the others:
 * it keeps its digits where the letter is the usual one. */
static double met_by_others(const Solver *k, int rhat, int own, int to)
{
    const int n = n_shared(k);
    const size_t n_left = k->newton.n_left;
    double total = 0;
    for (int other = 0; other < k->p.n_rhat; other++) {
        if (other == rhat)
            continue;
        const size_t row = other < rhat ? other * n + to : rhat * n + own;
        const size_t column = other < rhat ? rhat * n + own : other * n + to;
        total += k->newton.system[row * n_left + column];
    }
    return total;
}

/* The block of y where full collusion is capped: -B + B N^-1 B. */
static void complete_histories(Solver *k, int rhat)
{
    const size_t first = (size_t)rhat * n_shared(k);
    for (int z = 0; z < k->p.n_z; z++)
        for (int to = z; to < k->p.n_z; to++)
            k->newton.system[(first + z) * k->newton.n_left + first + to] =
                -met_by_others(k, rhat, z, to);
}

/* The block of t1 where rows are capped: -alpha + alpha D^-1 alpha + C' N^-1 C, which is W times
 * the same times W', because alpha - alpha D^-1 alpha = W B W'. Rows without caps have no -alpha.
 */
static void complete_rows(Solver *k, int rhat)
{
    const int of_t = n_of_y(k), n_rows = k->p.n_rows;
    const size_t first = (size_t)rhat * n_shared(k) + of_t;
    for (int row = 0; row < n_rows; row++)
        for (int to = row; to < n_rows; to++) {
            const double alone = k->newton.alpha_total[(size_t)row * k->p.n_rhat + rhat];
            double *entry = k->newton.system + (first + row) * k->newton.n_left + first + to;
            if (row == to && !(alone > 0))
                *entry -= alone;
            else
                *entry = -met_by_others(k, rhat, of_t + row, of_t + to);
        }
}

/* What the histories and the caps on rows add to the unknowns of one letter, the half that add_gram
 * fills. */
static void add_rest(Solver *k, int rhat)
{
    Newton *n = &k->newton;
    const int n_rhat = k->p.n_rhat, n_z = n->n_coupled, n_rows = k->p.n_rows, n_left = n->n_left;
    const size_t n_each = (size_t)k->p.n_z * n_rhat;
    const int first = rhat * n_shared(k), of_t = first + n_of_y(k);
    for (int z = 0; z < n_z; z++) {
        const size_t own = first + z, other = own + n_z, at = (size_t)z * n_rhat + rhat;
        n->system[own * n_left + own] += k->p.full_cap ? 0 : n->rest[at];
        if (!k->p.full_cap)
            continue;
        n->system[own * n_left + other] += 1;
        n->system[other * n_left + own] += 1;
        n->system[other * n_left + other] += n->rest[2 * n_each + at];
    }
    for (int row = 0; k->p.row_cap && row < n_rows; row++) {
        const size_t other = of_t + n_rows + row, at = (size_t)row * n_rhat + rhat;
        n->system[other * n_left + other] += n->drag[at];
    }
}

bool factorise_letter_first(Solver *k)
{
    const Problem *p = &k->p;
    Newton *n = &k->newton;
    const int n_z = p->n_z, n_left = n->n_left;
    memset(n->system, 0, sizeof(double) * n_left * n_left);
    for (int x = 0; x < p->n_x; x++) {
        double *coupling = n->coupling + (size_t)x * n_z * n_left;
        double *inverse = n->sums_factor + (size_t)x * n_z * n_z;
        for (int rhat = 0; rhat < p->n_rhat; rhat++)
            if (!add_letter(k, x, rhat, coupling))
                return false;
        if (!factorise_all_sums(k, inverse))
            return false;
        multiply_lower(k, inverse, n_z, coupling, n_left);
        add_gram(k, coupling, n_z, n_left, 1, n->system);
    }
    for (int rhat = 0; rhat < p->n_rhat; rhat++) {
        if (p->full_cap)
            complete_histories(k, rhat);
        if (p->row_cap)
            complete_rows(k, rhat);
        add_rest(k, rhat);
    }
    mirror(n->system, n_left);
    return factorise_left(k);
}

/* rows <- D^-1 rows of one record and letter. */
static void divide_by_rows(const Solver *k, int x, int rhat, double *rows)
{
    const int n = k->p.n_rows;
    const double *inverse = k->newton.record_factor + ((size_t)x * k->p.n_rhat + rhat) * n * n;
    apply_lower(k, inverse, n, rows);
    apply_lower_transposed(k, inverse, n, rows);
}

/* What a force on the rows of one record means for y and beta, and L^-1 of what it means for nu. */
static void reduce_record(Solver *k, int x, double *by_sums)
{
    Letter *l = &k->newton.letter;
    const int n_coupled = k->newton.n_coupled;
    const int n_z = k->p.n_z, n_rows = k->p.n_rows, n_rhat = k->p.n_rhat;
    memset(by_sums, 0, sizeof(double) * n_z);
    for (int rhat = 0; rhat < n_rhat; rhat++) {
        double *left = k->newton.left + rhat * n_shared(k), *spread = l->by_z;
        double *of_t = left + n_of_y(k);
        gather_answers(k, x, rhat, l);
        for (int row = 0; row < n_rows; row++)
            l->rows[row] = k->newton.by_row[((size_t)row * n_rhat + rhat) * k->p.n_x + x];
        divide_by_rows(k, x, rhat, l->rows);
        memset(spread, 0, sizeof(double) * n_z);
        add_product_of_transpose(k, views_of(k, x), n_rows, n_z, l->rows, 1, spread);
        for (int z = 0; z < n_z; z++)
            by_sums[z] -= spread[z] *= l->answer[z];
        for (int z = 0; z < n_coupled; z++)
            left[z] -= spread[z];
        for (int z = 0; k->p.full_cap && z < n_coupled; z++)
            left[n_coupled + z] -= l->lean[z] * spread[z];
        for (int row = 0; row < n_rows; row++)
            of_t[row] -= l->alpha[row] * l->rows[row];
        for (int row = 0; k->p.row_cap && row < n_rows; row++)
            of_t[n_rows + row] -= l->drift[row] * l->rows[row];
    }
    apply_lower(k, k->newton.sums_factor + (size_t)x * n_z * n_z, n_z, by_sums);
}

/* u of one record, given y, beta and -L' nu. */
static void recover_record(Solver *k, int x, double *by_sums)
{
    Letter *l = &k->newton.letter;
    const int n_coupled = k->newton.n_coupled;
    const int n_z = k->p.n_z, n_rows = k->p.n_rows, n_rhat = k->p.n_rhat;
    apply_lower_transposed(k, k->newton.sums_factor + (size_t)x * n_z * n_z, n_z, by_sums);
    for (int rhat = 0; rhat < n_rhat; rhat++) {
        const double *y = k->newton.left + rhat * n_shared(k), *beta = y + n_of_y(k);
        gather_answers(k, x, rhat, l);
        for (int z = 0; z < n_z; z++) {
            const double leant = k->p.full_cap ? l->lean[z] * y[n_coupled + z] : 0;
            l->by_z[z] = l->answer[z] * ((n_coupled ? y[z] : 0) + leant - by_sums[z]);
        }
        for (int row = 0; row < n_rows; row++)
            l->rows[row] = -k->newton.by_row[((size_t)row * n_rhat + rhat) * k->p.n_x + x] -
                           l->alpha[row] * beta[row] -
                           (k->p.row_cap ? l->drift[row] * beta[n_rows + row] : 0);
        add_product(k, views_of(k, x), n_rows, n_z, l->by_z, -1, l->rows);
        divide_by_rows(k, x, rhat, l->rows);
        for (int row = 0; row < n_rows; row++)
            k->newton.u[((size_t)row * n_rhat + rhat) * k->p.n_x + x] = l->rows[row];
    }
}

void solve_letter_first(Solver *k)
{
    Newton *n = &k->newton;
    const int n_z = k->p.n_z, n_x = k->p.n_x, n_rhat = k->p.n_rhat;
    double *by_sums = n->letter.by_sums;
    memset(n->left, 0, sizeof(double) * n->n_left);
    for (int rhat = 0; rhat < n_rhat; rhat++)
        for (int i = 0; i < n_of_y(k); i++) /* part by part, then history by history */
            n->left[rhat * n_shared(k) + i] = n->by_history[i * n_rhat + rhat];
    for (int x = 0; x < n_x; x++)
        reduce_record(k, x, by_sums + (size_t)x * n_z);
    add_product_of_transpose(k, n->coupling, n_x * n_z, n->n_left, by_sums, -1, n->left);
    solve_left(k, n->left);
    add_product(k, n->coupling, n_x * n_z, n->n_left, n->left, 1, by_sums);
    for (int x = 0; x < n_x; x++)
        recover_record(k, x, by_sums + (size_t)x * n_z);
    memset(n->y, 0, sizeof(double) * n_z * n_rhat * n_parts(&k->p));
    for (int rhat = 0; rhat < n_rhat; rhat++)
        for (int i = 0; i < n_of_y(k); i++)
            n->y[i * n_rhat + rhat] = n->left[rhat * n_shared(k) + i];
}
