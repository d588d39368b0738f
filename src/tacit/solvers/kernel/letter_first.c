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
 * Caps (see newton.c) give beta a second part, t2, with columns e in the place of alpha, and y one
 * for the letters of histories that are held, with columns W h v and B v. For these, M is -sum_x h
 * and its like, and more than rounding cancels: B - B N^-1 B of one letter is written as B N^-1
 * times the sum of the others' B, which keeps its digits where the letter is the usual one.
 */
#include "kernel.h"

#include <math.h>
#include <string.h>

/* Number the unknowns that are left, letter by letter; how many there are. Where y is left to
 * refinement, only the letters of histories that are held have one. */
int number_letters(Solver *k)
{
    int n = 0;
    k->newton.letter.n_leant = 0;
    for (int rhat = 0; rhat < k->p.n_rhat; rhat++) {
        Shared *own = k->newton.letter.shared + rhat;
        own->first = n;
        own->n_y1 = own->n_y2 = own->n_t2 = 0;
        for (int z = 0; z < k->p.n_z; z++) {
            if (k->newton.n_coupled || is_leant(k, z, rhat))
                own->y1[own->n_y1++] = z;
            if (is_leant(k, z, rhat))
                own->y2[own->n_y2++] = z;
        }
        for (int row = 0; row < k->p.n_rows; row++)
            if (k->p.row_cap && k->is_held[row * k->p.n_rhat + rhat])
                own->t2[own->n_t2++] = row;
        own->of_t = n + own->n_y1 + own->n_y2;
        n = own->of_t + k->p.n_rows + own->n_t2;
        k->newton.letter.n_leant += own->n_y2;
    }
    return n;
}

/* Place of a history among those that have a y1: all have one, or those alone that have a y2. */
static int place_of(const Solver *k, const Shared *own, int y2)
{
    return k->newton.n_coupled ? own->y2[y2] : y2;
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

/* P of one record and letter, [row][z | y2 | t1 | t2], and P' P; where y is left to refinement
 * without [z], which comes into C = (W h)' D^-1 [W h v | alpha | e], [z][y2 | t1 | t2], alone. */
static void couple_rows(Solver *k, const double *seen, int rhat, const double *inverse)
{
    Letter *l = &k->newton.letter;
    const Shared *own = l->shared + rhat;
    const int n_z = k->p.n_z, n_rows = k->p.n_rows, of_t = n_z + own->n_y2;
    const int n = of_t + n_rows + own->n_t2;
    memset(l->coupled, 0, sizeof(double) * n_rows * n);
    for (int row = 0; row < n_rows; row++) {
        double *coupled = l->coupled + (size_t)row * n;
        for (int z = 0; z < n_z; z++)
            coupled[z] = seen[(size_t)row * n_z + z] * l->answer[z];
        for (int i = 0; i < own->n_y2; i++)
            coupled[n_z + i] = coupled[own->y2[i]] * l->lean[own->y2[i]];
        coupled[of_t + row] = l->alpha[row];
    }
    for (int i = 0; i < own->n_t2; i++)
        l->coupled[(size_t)own->t2[i] * n + of_t + n_rows + i] = l->drift[own->t2[i]];
    multiply_lower(k, inverse, n_rows, l->coupled, n);
    if (k->newton.n_coupled) {
        gram_of_columns(k, l->coupled, n_rows, n, 0, l->product);
        return;
    }
    gram_of_columns(k, l->coupled, n_rows, n, n_z, l->product);
    multiply_columns(k, l->coupled, n_rows, n, n_z, l->cross);
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

/* One letter of one record: P' P into the half of the system that add_gram fills, [B | B v | -C]
 * into T. */
static void place_letter(Solver *k, int rhat, double *coupling)
{
    const Letter *l = &k->newton.letter;
    const Shared *own = l->shared + rhat;
    const int n_z = k->p.n_z, n_left = k->newton.n_left, n_y1 = own->n_y1, n_y2 = own->n_y2;
    const int n_t = k->p.n_rows + own->n_t2, n_rest = n_y2 + n_t;
    const int before = k->newton.n_coupled ? n_z : 0, n = before + n_rest;
    const double *product = l->product, *sums = l->sums + (size_t)rhat * n_z * n_z;
    const double *cross = before ? product + n_z : l->cross;
    double *system = k->newton.system + (size_t)own->first * n_left + own->first;
    for (int i = 0; i < n_y1; i++) {
        const int z = own->y1[i];
        double *row = system + (size_t)i * n_left;
        for (int j = i; before && j < n_y1; j++)
            row[j] += product[(size_t)z * n + j];
        for (int j = 0; j < n_y2; j++)
            row[n_y1 + j] -= sums[(size_t)z * n_z + own->y2[j]] * l->lean[own->y2[j]];
        for (int j = n_y2; j < n_rest; j++)
            row[n_y1 + j] += cross[(size_t)z * n + j];
    }
    for (int i = 0; i < n_rest; i++)
        for (int j = i; j < n_rest; j++)
            system[(size_t)(n_y1 + i) * n_left + n_y1 + j] +=
                product[(size_t)(before + i) * n + before + j];
    for (int z = 0; z < n_z; z++) {
        double *row = coupling + (size_t)z * n_left + own->first;
        for (int j = 0; j < n_y1; j++)
            row[j] = sums[(size_t)z * n_z + own->y1[j]];
        for (int j = 0; j < n_y2; j++)
            row[n_y1 + j] = sums[(size_t)z * n_z + own->y2[j]] * l->lean[own->y2[j]];
        for (int j = n_y2; j < n_rest; j++)
            row[n_y1 + j] = -cross[(size_t)z * n + j];
    }
}

static bool add_letter(Solver *k, int x, int rhat, double *coupling)
{
    Letter *l = &k->newton.letter;
    const int n_z = k->p.n_z, n_rows = k->p.n_rows;
    double *inverse = k->newton.record_factor + ((size_t)x * k->p.n_rhat + rhat) * n_rows * n_rows;
    double *factor = l->factors + (size_t)rhat * n_z * n_z;
    const double *seen = views_of(k, x);
    gather_answers(k, x, rhat, l);
    if (!factorise_rows(k, seen, l->answer, l->alpha, inverse))
        return false;
    couple_rows(k, seen, rhat, inverse);
    if (!factorise_sums(k, seen, l->answer, l->alpha, factor))
        return false;
    if (k->newton.n_coupled || l->n_leant)
        gram(k, factor, n_z, n_z, l->sums + (size_t)rhat * n_z * n_z);
    place_letter(k, rhat, coupling);
    return true;
}

/* The sum of the others' B, for the letters of histories that are held: [z][y2 of all letters]. */
static void add_others(Solver *k)
{
    const Letter *l = &k->newton.letter;
    const int n_z = k->p.n_z;
    double *others = l->others;
    for (int z = 0; z < n_z; z++)
        for (int rhat = 0; rhat < k->p.n_rhat; rhat++) {
            const Shared *own = l->shared + rhat;
            for (int i = 0; i < own->n_y2; i++, others++) {
                *others = 0;
                for (int other = 0; other < k->p.n_rhat; other++)
                    if (other != rhat)
                        *others += l->sums[((size_t)other * n_z + z) * n_z + own->y2[i]];
            }
        }
}

/* B N^-1 times the others' B between the histories that are held and all that have a y1, of one
 * record. */
VECTORISED static void pair_histories(Solver *k, const double *coupling)
{
    const Letter *l = &k->newton.letter;
    const double *others = l->others;
    for (int z = 0; z < k->p.n_z; z++) {
        double *paired = l->paired;
        for (int rhat = 0; rhat < k->p.n_rhat; rhat++) {
            const Shared *own = l->shared + rhat;
            const double *row = coupling + (size_t)z * k->newton.n_left + own->first;
            for (int i = 0; i < own->n_y2; i++, others++, paired += k->p.n_z)
                for (int j = 0; j < own->n_y1; j++)
                    paired[j] += *others * row[j];
        }
    }
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

/* The block of y1 where histories are held: -B + B N^-1 B. */
static void complete_histories(Solver *k)
{
    const Letter *l = &k->newton.letter;
    const double *paired = l->paired;
    for (int rhat = 0; rhat < k->p.n_rhat; rhat++) {
        const Shared *own = l->shared + rhat;
        for (int i = 0; i < own->n_y2; i++, paired += k->p.n_z) {
            const int at = place_of(k, own, i);
            for (int j = 0; j < own->n_y1; j++) {
                const size_t row = own->first + (at < j ? at : j);
                const size_t column = own->first + (at < j ? j : at);
                k->newton.system[row * k->newton.n_left + column] = -paired[j];
            }
        }
    }
}

/* C' N^-1 C of one letter and all others, between two rows: with all letters it is W B W'. */
static double met_by_others(const Solver *k, int rhat, int row, int to)
{
    const size_t own = k->newton.letter.shared[rhat].of_t;
    const size_t n_left = k->newton.n_left;
    double total = 0;
    for (int other = 0; other < k->p.n_rhat; other++) {
        const size_t of_other = k->newton.letter.shared[other].of_t;
        if (other < rhat)
            total += k->newton.system[(of_other + to) * n_left + own + row];
        if (other > rhat)
            total += k->newton.system[(own + row) * n_left + of_other + to];
    }
    return total;
}

/* The block of t1 where rows are capped: -alpha + alpha D^-1 alpha + C' N^-1 C, which is W times
 * -B + B N^-1 B times W', because alpha - alpha D^-1 alpha = W B W'. Rows without caps have no
 * -alpha. */
static void complete_rows(Solver *k, int rhat)
{
    const int n_rows = k->p.n_rows;
    const size_t first = k->newton.letter.shared[rhat].of_t;
    for (int row = 0; row < n_rows; row++)
        for (int to = row; to < n_rows; to++) {
            const double alone = k->newton.alpha_total[(size_t)row * k->p.n_rhat + rhat];
            double *entry = k->newton.system + (first + row) * k->newton.n_left + first + to;
            if (row == to && !(alone > 0))
                *entry -= alone;
            else
                *entry = -met_by_others(k, rhat, row, to);
        }
}

/* What the histories and the caps on rows add to the unknowns of one letter, the half that add_gram
 * fills. */
static void add_rest(Solver *k, int rhat)
{
    Newton *n = &k->newton;
    const Shared *own = n->letter.shared + rhat;
    const int n_rhat = k->p.n_rhat;
    const size_t n_each = (size_t)k->p.n_z * n_rhat, n_left = n->n_left;
    for (int i = 0; i < own->n_y1; i++) {
        const size_t y1 = own->first + i;
        if (!is_leant(k, own->y1[i], rhat))
            n->system[y1 * n_left + y1] += n->rest[own->y1[i] * n_rhat + rhat];
    }
    for (int i = 0; i < own->n_y2; i++) {
        const size_t y1 = own->first + place_of(k, own, i), y2 = own->first + own->n_y1 + i;
        n->system[y1 * n_left + y2] += 1;
        n->system[y2 * n_left + y2] += n->rest[2 * n_each + own->y2[i] * n_rhat + rhat];
    }
    for (int i = 0; i < own->n_t2; i++) {
        const size_t t2 = own->of_t + k->p.n_rows + i;
        n->system[t2 * n_left + t2] += n->drag[own->t2[i] * n_rhat + rhat];
    }
}

/* All letters of one record. */
static bool add_record(Solver *k, int x)
{
    Newton *n = &k->newton;
    const int n_z = k->p.n_z;
    double *coupling = n->coupling + (size_t)x * n_z * n->n_left;
    double *inverse = n->sums_factor + (size_t)x * n_z * n_z;
    for (int rhat = 0; rhat < k->p.n_rhat; rhat++)
        if (!add_letter(k, x, rhat, coupling))
            return false;
    if (!factorise_all_sums(k, inverse))
        return false;
    multiply_lower(k, inverse, n_z, coupling, n->n_left);
    add_gram(k, coupling, n_z, n->n_left, 1, n->system);
    if (n->letter.n_leant) {
        add_others(k);
        multiply_lower(k, inverse, n_z, n->letter.others, n->letter.n_leant);
        pair_histories(k, coupling);
    }
    return true;
}

bool factorise_letter_first(Solver *k)
{
    Newton *n = &k->newton;
    memset(n->system, 0, sizeof(double) * n->n_left * n->n_left);
    memset(n->letter.paired, 0, sizeof(double) * n->letter.n_leant * k->p.n_z);
    for (int x = 0; x < k->p.n_x; x++)
        if (!add_record(k, x))
            return false;
    complete_histories(k);
    for (int rhat = 0; rhat < k->p.n_rhat; rhat++) {
        if (k->p.row_cap)
            complete_rows(k, rhat);
        add_rest(k, rhat);
    }
    mirror(n->system, n->n_left);
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
    const int n_z = k->p.n_z, n_rows = k->p.n_rows, n_rhat = k->p.n_rhat;
    memset(by_sums, 0, sizeof(double) * n_z);
    for (int rhat = 0; rhat < n_rhat; rhat++) {
        const Shared *own = l->shared + rhat;
        double *y1 = k->newton.left + own->first, *y2 = y1 + own->n_y1, *spread = l->by_z;
        double *t1 = k->newton.left + own->of_t, *t2 = t1 + n_rows;
        gather_answers(k, x, rhat, l);
        for (int row = 0; row < n_rows; row++)
            l->rows[row] = k->newton.by_row[((size_t)row * n_rhat + rhat) * k->p.n_x + x];
        divide_by_rows(k, x, rhat, l->rows);
        memset(spread, 0, sizeof(double) * n_z);
        add_product_of_transpose(k, views_of(k, x), n_rows, n_z, l->rows, 1, spread);
        for (int z = 0; z < n_z; z++)
            by_sums[z] -= spread[z] *= l->answer[z];
        for (int i = 0; i < own->n_y1; i++)
            y1[i] -= spread[own->y1[i]];
        for (int i = 0; i < own->n_y2; i++)
            y2[i] -= l->lean[own->y2[i]] * spread[own->y2[i]];
        for (int row = 0; row < n_rows; row++)
            t1[row] -= l->alpha[row] * l->rows[row];
        for (int i = 0; i < own->n_t2; i++)
            t2[i] -= l->drift[own->t2[i]] * l->rows[own->t2[i]];
    }
    apply_lower(k, k->newton.sums_factor + (size_t)x * n_z * n_z, n_z, by_sums);
}

/* u of one record, given y, beta and -L' nu. */
static void recover_record(Solver *k, int x, double *by_sums)
{
    Letter *l = &k->newton.letter;
    const int n_z = k->p.n_z, n_rows = k->p.n_rows, n_rhat = k->p.n_rhat;
    apply_lower_transposed(k, k->newton.sums_factor + (size_t)x * n_z * n_z, n_z, by_sums);
    for (int rhat = 0; rhat < n_rhat; rhat++) {
        const Shared *own = l->shared + rhat;
        const double *y1 = k->newton.left + own->first, *y2 = y1 + own->n_y1;
        const double *t1 = k->newton.left + own->of_t, *t2 = t1 + n_rows;
        gather_answers(k, x, rhat, l);
        for (int z = 0; z < n_z; z++)
            l->by_z[z] = -by_sums[z];
        for (int i = 0; i < own->n_y1; i++)
            l->by_z[own->y1[i]] += y1[i];
        for (int i = 0; i < own->n_y2; i++)
            l->by_z[own->y2[i]] += l->lean[own->y2[i]] * y2[i];
        for (int z = 0; z < n_z; z++)
            l->by_z[z] *= l->answer[z];
        for (int row = 0; row < n_rows; row++)
            l->rows[row] = -k->newton.by_row[((size_t)row * n_rhat + rhat) * k->p.n_x + x] -
                           l->alpha[row] * t1[row];
        for (int i = 0; i < own->n_t2; i++)
            l->rows[own->t2[i]] -= l->drift[own->t2[i]] * t2[i];
        add_product(k, views_of(k, x), n_rows, n_z, l->by_z, -1, l->rows);
        divide_by_rows(k, x, rhat, l->rows);
        for (int row = 0; row < n_rows; row++)
            k->newton.u[((size_t)row * n_rhat + rhat) * k->p.n_x + x] = l->rows[row];
    }
}

/* Take the y of all letters from what is left, or put them there. */
static void exchange_y(Solver *k, bool is_taken, double *y)
{
    const int n_rhat = k->p.n_rhat;
    const size_t n_each = (size_t)k->p.n_z * n_rhat;
    for (int rhat = 0; rhat < n_rhat; rhat++) {
        const Shared *own = k->newton.letter.shared + rhat;
        for (int i = 0; i < own->n_y1 + own->n_y2; i++) {
            double *left = k->newton.left + own->first + i;
            double *of_y = i < own->n_y1 ? y + own->y1[i] * n_rhat + rhat
                                         : y + n_each + own->y2[i - own->n_y1] * n_rhat + rhat;
            *(is_taken ? of_y : left) = is_taken ? *left : *of_y;
        }
    }
}

void solve_letter_first(Solver *k)
{
    Newton *n = &k->newton;
    const int n_z = k->p.n_z, n_x = k->p.n_x;
    double *by_sums = n->letter.by_sums;
    memset(n->left, 0, sizeof(double) * n->n_left);
    exchange_y(k, false, n->by_history);
    for (int x = 0; x < n_x; x++)
        reduce_record(k, x, by_sums + (size_t)x * n_z);
    add_product_of_transpose(k, n->coupling, n_x * n_z, n->n_left, by_sums, -1, n->left);
    solve_left(k, n->left);
    add_product(k, n->coupling, n_x * n_z, n->n_left, n->left, 1, by_sums);
    for (int x = 0; x < n_x; x++)
        recover_record(k, x, by_sums + (size_t)x * n_z);
    memset(n->y, 0, sizeof(double) * n_z * k->p.n_rhat * n_parts(&k->p));
    exchange_y(k, true, n->y);
}
