/* The Newton system of the release problem, solved through its structure.
 *
 * One interior-point step asks for the channel change dc and the multipliers nu of the sums in
 *
 *     (s/c + l_f/c) dc  -  l_f dq/q  +  spread(l (da/a - db/b))  +  nu  =  -force,
 *     sum_rhat dc = 0,
 *
 * with q = p(rhat | z), a = p(rhat, y, x) and b = p(rhat, y) of every partial view. Three kinds of
 * coupling, each eliminated where it is block diagonal:
 *
 * - within a cell (z, x), over rhat, by the sums: a rank-one correction of a diagonal;
 * - within a history z, over x, by full collusion: y[z, rhat] = -l_f dq/q;
 * - within a record x, over z, by the partial views: u[row, rhat, x] = l (da/a - db/b).
 *
 * Eliminating y first leaves a system of size |rows||Rhat||X| (history_first.c); eliminating u
 * first leaves one of size |Rhat|(|Z| + |rows|) (record_first.c). Both are sums of positive terms,
 * so nothing cancels; the cheaper is taken. In both, V is how a force on the rows moves the
 * histories.
 *
 * Caps add w (cap db - da)^2 / 2 for each x, w = multiplier / slack. For the letters of a row,
 *
 *     l (da/a - db/b)^2 a + w (cap db - da)^2  summed over x  =  (da - e db)^2 / alpha + q db^2,
 *
 * 1/alpha = l/a + w, with e the da per db that takes the least force, and q that force: two
 * unknowns t for each letter of a row in the place of l db/b, da = alpha (u + t1) + e t2. The same
 * holds for the letters of a history, which gets a second y: its force on a cell is y1 + v y2,
 * v = e / alpha, y2 = -db. Where y is among what is left, that is not positive definite, and is
 * factorised as it is.
 *
 * Where views show far more than there are cells, nothing of this is worth it: cells_together.c.
 */
#include "kernel.h"

#include <math.h>
#include <string.h>

#define SMALLEST_WEIGHT 1e-14
#define SMALLEST_CAPPED                                                                            \
    3e-6                /* the same beside caps: a row of huge alpha would swamp the others        \
                         */
#define LITTLE_WORK 3e8 /* operations of one factorisation: some ten milliseconds */
#define FEW_CELLS 1000  /* of one letter: of more, estimates of work are too rough to choose by */
#define WORTH_ALL 2     /* how much cheaper it must be to take all cells of a letter together ... */
#define WORTH_EXACT 3   /* ... and beside exact or priced views, where letter by letter, too */
#define REFINEMENTS 4
#define RELATIVE_ACCURACY 1e-5

/* Operations of one factorisation, roughly. */
static double history_first_work(const Problem *p)
{
    const double by_record = (double)p->n_rhat * p->n_rows, left = by_record * p->n_x;
    const double touched = p->n_rhat * p->n_x * (p->row_of_z ? p->n_views : by_record);
    const double of_histories = (double)p->n_z * p->n_rhat * touched * touched;
    return (p->full_cap ? 1.3 : 1) * of_histories + pow(left, 3) / 3;
}

/* Where rows are capped, what is left of them is twice as large, and costs twice as much for its
 * size; of the histories' caps, few are held. */
static double record_first_work(const Problem *p)
{
    const double own = (double)p->n_rhat * p->n_rows, n_capped = p->row_cap ? 2 : 1;
    const double left = (p->full_cap ? 1.3 : 1) * p->n_rhat * p->n_z + n_capped * own;
    const double of_record = own * left * left + own * own * left + pow(own, 3);
    return p->n_x * of_record + (p->row_cap || p->full_cap ? 2 : 1) * pow(left, 3) / 3;
}

static double letter_first_work(const Problem *p)
{
    const double n_z = p->n_z, n_rows = p->n_rows;
    const double shared = n_z * (p->full_cap ? 1.3 : 1) + n_rows * (p->row_cap ? 2 : 1);
    const double left = p->n_rhat * shared;
    const double of_letter = n_rows * n_z * shared + pow(n_rows, 3) + pow(n_z, 3) +
                             n_rows * n_rows * shared + n_rows * shared * shared;
    const double of_record = p->n_rhat * of_letter + pow(n_z, 3) + n_z * n_z * left;
    return p->n_x * (of_record + n_z * left * left) +
           (p->row_cap || p->full_cap ? 2 : 1) * pow(left, 3) / 3;
}

static double cells_together_work(const Problem *p)
{
    const double n = (double)p->n_z * p->n_x;
    const double shown = (p->row_of_z ? p->n_views : p->n_rows) * n * n;
    return n > FEW_CELLS ? INFINITY : p->n_rhat * (shown + 1.5 * n * n * n) + n * n * n / 3;
}

/* Going letter by letter loses digits where some curvatures are far larger than others, as beside
 * caps, exact or priced views: there it must be worth it. */
Order choose_order(const Problem *p)
{
    const double history = history_first_work(p), record = record_first_work(p);
    double worth = 2, worth_all = WORTH_ALL;
    for (int view = 0; view <= p->n_views; view++)
        if (p->is_exact[view] || p->price[view] > 0)
            worth = 10, worth_all = WORTH_EXACT;
    const double letter = worth * letter_first_work(p);
    if (!p->n_rows)
        return HISTORY_FIRST;
    const double least = fmin(history, fmin(record, letter));
    if (least > LITTLE_WORK && worth_all * cells_together_work(p) < least)
        return CELLS_TOGETHER;
    if (history < fmin(record, letter))
        return HISTORY_FIRST;
    const bool is_little = (p->row_cap || p->full_cap) && record < LITTLE_WORK;
    return is_little || record < letter ? RECORD_FIRST : LETTER_FIRST;
}

/* Unknowns y of each history and letter. */
int n_parts(const Problem *p)
{
    return p->full_cap ? 2 : 1;
}

/* Unknowns t of all rows and letters. */
static int rows_left(const Problem *p)
{
    return p->n_rhat * (p->row_cap ? 2 : 1) * p->n_rows;
}

/* At most. */
int unknowns_left(const Problem *p, Order order)
{
    if (order == HISTORY_FIRST)
        return p->n_rows * p->n_rhat * p->n_x;
    if (order == CELLS_TOGETHER)
        return p->n_z * p->n_x;
    return p->n_rhat * n_parts(p) * p->n_z + rows_left(p);
}

/* Where caps are, the system is not positive definite. */
VECTORISED bool factorise_left(Solver *k)
{
    Newton *n = &k->newton;
    Integer info = 0;
    if (!k->n_groups)
        return cholesky(k, n->system, n->n_left, n->left, 1, NULL);
    work(k, pow(n->n_left, 3));
    for (int i = 0; i < n->n_left; i++) {
        double largest = 0;
        for (int j = 0; j < n->n_left; j++) {
            const double size = fabs(n->system[(size_t)i * n->n_left + j]);
            largest = size > largest ? size : largest;
        }
        n->left_scale[i] = largest > 0 ? 1 / sqrt(largest) : 1;
    }
    for (int i = 0; i < n->n_left; i++)
        for (int j = 0; j < n->n_left; j++)
            n->system[(size_t)i * n->n_left + j] *= n->left_scale[i] * n->left_scale[j];
    k->lapack->dgetrf(&n->n_left, &n->n_left, n->system, &n->n_left, n->left_pivots, &info);
    return info == 0;
}

void solve_left(const Solver *k, double *side)
{
    const Newton *n = &k->newton;
    Integer one = 1, info = 0;
    if (!k->n_groups)
        solve_factored(k, n->system, n->n_left, side);
    else {
        for (int i = 0; i < n->n_left; i++)
            side[i] *= n->left_scale[i];
        k->lapack->dgetrs("N", &n->n_left, &one, n->system, &n->n_left, n->left_pivots, side,
                          &n->n_left, &info);
        for (int i = 0; i < n->n_left; i++)
            side[i] *= n->left_scale[i];
    }
}

/* While full collusion has no weight but a frugality far below the barrier, what couples records
 * within a history is left to refinement. */
static bool is_coupled(const Solver *k)
{
    const int full = k->p.n_views;
    return k->is_frugal || k->is_full_exact || k->is_limited[full] || k->p.price[full] > 0 ||
           k->newton.order == HISTORY_FIRST;
}

/* Whether a letter of a history has a second y. */
bool is_leant(const Solver *k, int z, int rhat)
{
    return k->p.full_cap && k->is_held[(k->n_row_groups + z) * k->p.n_rhat + rhat];
}

/* Number the y among the unknowns left, going record by record. */
static int number_columns(Solver *k)
{
    const int n_each = k->p.n_z * k->p.n_rhat;
    const bool is_all = is_coupled(k);
    int n = 0;
    for (int i = 0; i < n_parts(&k->p) * n_each; i++) {
        const int z = i % n_each / k->p.n_rhat, rhat = i % k->p.n_rhat;
        const bool is_left = (is_all && i < n_each) || is_leant(k, z, rhat);
        k->newton.column[i] = is_left ? n++ : -1;
    }
    return n;
}

/* Curvature of the term of full collusion. */
double full_curvature(const Solver *k, const Iterate *it, int z, int rhat)
{
    if (k->is_full_exact)
        return k->full_stiffness;
    const double weight = weight_of(k, it, k->p.n_views);
    return is_leant(k, z, rhat) ? fmax(weight, SMALLEST_CAPPED) : weight;
}

/* -- cells ----------------------------------------------------------------------------------- */

/* What a letter without a second y adds to the block of y: as without caps. */
static void stand_letter(Solver *k, const Iterate *it, int z, int rhat, double own)
{
    const int n_x = k->p.n_x;
    const size_t at = (size_t)z * k->n_block + rhat * n_x;
    double rest = 0;
    for (int x = 0; x < n_x; x++) {
        k->newton.lean[at + x] = 0;
        rest += k->newton.massive[at + x] * it->s[at + x];
    }
    const size_t n_each = (size_t)k->p.n_z * k->p.n_rhat, at_own = (size_t)z * k->p.n_rhat + rhat;
    k->newton.rest[at_own] = rest / own;
    k->newton.rest[n_each + at_own] = k->newton.rest[2 * n_each + at_own] = 0;
}

/* Fill in v of one letter of a capped history, and what it adds to the block of y: see below. */
VECTORISED static void lean_letter(Solver *k, const Iterate *it, int z, int rhat, double own)
{
    const int n_x = k->p.n_x;
    const size_t at = (size_t)z * k->n_block + rhat * n_x, n_each = (size_t)k->p.n_z * k->p.n_rhat;
    const size_t at_own = (size_t)z * k->p.n_rhat + rhat;
    const double *c = it->c + at, *s = it->s + at, *mass = k->p.mass + (size_t)z * n_x;
    const double *cap = k->cap + (size_t)(k->n_row_groups + z) * n_x;
    const double *w = k->newton.cap_stiffness + (size_t)k->n_row_groups * k->n_block + at;
    const double *softness = k->newton.softness + at, joint = it->history_joint[at_own];
    double *lean = k->newton.lean + at, total = 0, leant = 0;
    for (int x = 0; x < n_x; x++) {
        const double alpha = mass[x] * c[x] / (own + w[x] * mass[x] * c[x]);
        lean[x] = w[x] > 0 ? w[x] * cap[x] : 0;
        total += alpha;
        leant += alpha * lean[x];
    }
    const double base = (1 - leant) / total;
    double answer = 0, held = 0, rest = 0;
    for (int x = 0; x < n_x; x++) {
        const double alpha = mass[x] * c[x] / (own + w[x] * mass[x] * c[x]);
        const double drift = alpha * (lean[x] += base), kept = softness[x] * s[x] / c[x];
        const double off = alpha * lean[x] - mass[x] * c[x] / joint;
        answer += mass[x] * softness[x];
        held += kept * drift;
        rest += kept * drift * lean[x];
        if (mass[x] > 0)
            rest += own * off * off / (mass[x] * c[x]);
        if (w[x] > 0)
            rest += w[x] * (cap[x] - drift) * (cap[x] - drift);
    }
    k->newton.rest[at_own] = -answer;
    k->newton.rest[n_each + at_own] = held;
    k->newton.rest[2 * n_each + at_own] = rest;
}

/* The same where full collusion is capped: each history has a block for y1 and y2, negative
 * definite in y1 and positive definite in y2. With h a cell's answer as mass, 1 - alpha h = h (s/c)
 * / mass: what the diagonals are made of is again written as sums of positive terms. */
VECTORISED static void soften_capped(Solver *k, const Iterate *it)
{
    const int n_x = k->p.n_x, n_rhat = k->p.n_rhat, n = 2 * n_rhat;
    const size_t n_each = (size_t)k->p.n_z * n_rhat;
    double *sum = k->newton.total;
    for (int z = 0; z < k->p.n_z; z++) {
        work(k, 4.0 * n_rhat * k->n_block);
        const size_t at = (size_t)z * k->n_block;
        const double *c = it->c + at, *s = it->s + at, *mass = k->p.mass + (size_t)z * n_x;
        const double *w = k->newton.cap_stiffness + (size_t)k->n_row_groups * k->n_block + at;
        double *softness = k->newton.softness + at, *share = k->newton.share + at;
        double *massive = k->newton.massive + at, *lean = k->newton.lean + at;
        double *m = k->newton.history_block + (size_t)z * n * n;
        memset(sum, 0, sizeof(double) * n_x);
        for (int rhat = 0; rhat < n_rhat; rhat++) {
            const double own = full_curvature(k, it, z, rhat);
            for (int x = 0; x < n_x; x++) {
                const int i = rhat * n_x + x;
                softness[i] = 1 / ((s[i] + own) / c[i] + mass[x] * w[i]);
                massive[i] = mass[x] * softness[i];
                sum[x] += softness[i];
            }
            if (is_leant(k, z, rhat))
                lean_letter(k, it, z, rhat, own);
            else
                stand_letter(k, it, z, rhat, own);
        }
        for (int rhat = 0; rhat < n_rhat; rhat++)
            for (int x = 0; x < n_x; x++)
                share[rhat * n_x + x] = softness[rhat * n_x + x] / sum[x];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                const double *a = massive + i % n_rhat * n_x, *b = share + j % n_rhat * n_x;
                const double *of_a = lean + i % n_rhat * n_x, *of_b = lean + j % n_rhat * n_x;
                double both = 0;
                if (i == j && i < n_rhat &&
                    is_leant(k, z, i)) { /* 1 - share as the others' shares keeps its digits */
                    for (int other = 0; other < n_rhat; other++)
                        for (int x = 0; other != i && x < n_x; x++)
                            both -= a[x] * share[other * n_x + x];
                    m[i * n + j] = both;
                    continue;
                }
                for (int x = 0; x < n_x; x++)
                    both += a[x] * b[x] * (i < n_rhat ? 1 : of_a[x]) * (j < n_rhat ? 1 : of_b[x]);
                if (i % n_rhat == j % n_rhat)
                    both += k->newton.rest[(i / n_rhat + j / n_rhat) * n_each + (size_t)z * n_rhat +
                                           i % n_rhat];
                m[i * n + j] = both;
            }
    }
}

/* How a cell answers a force, and M = p(rhat, z)/l_f minus that answer summed over x: c/l - h =
 * h (s/c) c/l, so the difference is written as a sum of positive terms. */
VECTORISED static void soften(Solver *k, const Iterate *it)
{
    const int n_x = k->p.n_x, n_rhat = k->p.n_rhat;
    Newton *n = &k->newton;
    double *sum = n->total;
    if (k->p.full_cap) {
        soften_capped(k, it);
        return;
    }
    const double own = full_curvature(k, it, 0, 0);
    for (int z = 0; z < k->p.n_z; z++) {
        work(k, (double)n_rhat * k->n_block);
        const size_t at = (size_t)z * k->n_block;
        const double *c = it->c + at, *s = it->s + at, *mass = k->p.mass + (size_t)z * n_x;
        double *softness = n->softness + at, *share = n->share + at, *massive = n->massive + at;
        double *m = n->history_block + (size_t)z * n_rhat * n_rhat;
        memset(sum, 0, sizeof(double) * n_x);
        for (int rhat = 0; rhat < n_rhat; rhat++) {
            double rest = 0;
            for (int x = 0; x < n_x; x++) {
                const int i = rhat * n_x + x;
                softness[i] = k->is_full_exact ? 1 / (s[i] / c[i] + own) : c[i] / (s[i] + own);
                massive[i] = mass[x] * softness[i];
                sum[x] += softness[i];
                rest += massive[i] * (k->is_full_exact ? s[i] / c[i] : s[i]);
            }
            n->rest[z * n_rhat + rhat] = m[rhat * n_rhat + rhat] = rest / own;
        }
        for (int rhat = 0; rhat < n_rhat; rhat++)
            for (int x = 0; x < n_x; x++)
                share[rhat * n_x + x] = softness[rhat * n_x + x] / sum[x];
        for (int i = 0; i < n_rhat; i++)
            for (int j = 0; j <= i; j++) {
                double both = 0;
                for (int x = 0; x < n_x; x++)
                    both += massive[i * n_x + x] * share[j * n_x + x];
                m[i * n_rhat + j] = m[j * n_rhat + i] = i == j ? m[i * n_rhat + i] + both : both;
            }
    }
}

/* The cells' answer to force + y + spread(u), parts of which may be NULL: as it is into change,
 * sign turned, or (softness being massive) as mass summed over x and over histories. */
VECTORISED void respond(const Solver *k, const double *softness, const double *force,
                        const double *y, const double *u, double *change, double *by_history,
                        double *by_row)
{
    const int n_x = k->p.n_x, n_rhat = k->p.n_rhat;
    const size_t n_each = (size_t)k->p.n_z * n_rhat;
    double *sum = k->newton.total;
    if (by_row)
        memset(by_row, 0, sizeof(double) * k->n_row_cells);
    for (int z = 0; z < k->p.n_z; z++) {
        const size_t at = (size_t)z * k->n_block;
        const double *share = k->newton.share + at;
        double *block = change ? change + at : k->newton.block;
        if (force)
            memcpy(block, force + at, sizeof(double) * k->n_block);
        else
            memset(block, 0, sizeof(double) * k->n_block);
        if (u)
            add_spread(k, z, u, block);
        memset(sum, 0, sizeof(double) * n_x);
        const double *lean = k->p.full_cap ? k->newton.lean + at : NULL;
        for (int rhat = 0; rhat < n_rhat; rhat++) {
            const double shift = y ? y[z * n_rhat + rhat] : 0;
            if (lean && y)
                for (int x = 0; x < n_x; x++)
                    block[rhat * n_x + x] += y[n_each + z * n_rhat + rhat] * lean[rhat * n_x + x];
            for (int x = 0; x < n_x; x++) {
                const int i = rhat * n_x + x;
                block[i] = softness[at + i] * (block[i] + shift);
                sum[x] += block[i];
            }
        }
        for (int rhat = 0; rhat < n_rhat; rhat++)
            for (int x = 0; x < n_x; x++) {
                const int i = rhat * n_x + x;
                const double moved = block[i] - share[i] * sum[x];
                block[i] = change ? -moved : moved;
            }
        if (by_history)
            for (int rhat = 0; rhat < n_rhat; rhat++) {
                double total = 0;
                for (int x = 0; x < n_x; x++)
                    total += block[rhat * n_x + x];
                by_history[z * n_rhat + rhat] = total;
                if (!lean)
                    continue;
                total = 0;
                for (int x = 0; x < n_x; x++)
                    total += block[rhat * n_x + x] * lean[rhat * n_x + x];
                by_history[n_each + z * n_rhat + rhat] = total;
            }
        if (by_row)
            collect_block(k, z, block, by_row);
    }
}

/* The answer of one history's cells to a unit force on rhat', as mass: [rhat][rhat'][x]. */
void respond_to_units(const Solver *k, int z, double *response)
{
    const int n_x = k->p.n_x, n_rhat = k->p.n_rhat;
    const double *massive = k->newton.massive + (size_t)z * k->n_block;
    const double *share = k->newton.share + (size_t)z * k->n_block;
    for (int i = 0; i < n_rhat; i++)
        for (int j = 0; j < n_rhat; j++)
            for (int x = 0; i != j && x < n_x; x++)
                response[(i * n_rhat + j) * n_x + x] = -massive[i * n_x + x] * share[j * n_x + x];
    /* 1 - share as the sum of the others' shares: it keeps its digits near 0. */
    for (int i = 0; i < n_rhat; i++) {
        double *own = response + (size_t)i * (n_rhat + 1) * n_x;
        memset(own, 0, sizeof(double) * n_x);
        for (int j = 0; j < n_rhat; j++)
            for (int x = 0; i != j && x < n_x; x++)
                own[x] += massive[i * n_x + x] * share[j * n_x + x];
    }
}

/* -- rows ------------------------------------------------------------------------------------ */

/* alpha, e and q of the rows of capped views, and what history_first.c makes of them; e is 0 and q
 * is 1 where no cap is. A row of no mass is cut off by units on the diagonal. */
static void curve_capped_rows(Solver *k)
{
    const int n_x = k->p.n_x, n_rhat = k->p.n_rhat;
    Newton *n = &k->newton;
    memcpy(n->own_alpha, n->alpha, sizeof(double) * k->n_row_cells);
    for (int own = 0; own < k->n_row_groups * n_rhat; own++) {
        const size_t at = (size_t)own * n_x;
        const double *cap = k->cap + (size_t)(own / n_rhat) * n_x, *w = n->cap_stiffness + at;
        const double *free = n->own_alpha + at;
        double *alpha = n->alpha + at, *drift = n->drift + at;
        double total = 0, leant = 0, marginal = 0, drag = 0;
        bool is_capped = false;
        for (int x = 0; x < n_x; x++) {
            alpha[x] = free[x] / (1 + w[x] * free[x]);
            marginal += free[x];
            total += alpha[x];
            leant += w[x] > 0 ? alpha[x] * w[x] * cap[x] : 0;
            is_capped |= w[x] > 0;
        }
        for (int x = 0; x < n_x; x++) {
            const double lean = w[x] > 0 ? w[x] * cap[x] : 0;
            drift[x] = total > 0 ? alpha[x] * (lean + (1 - leant) / total) : 0;
            if (free[x] > 0) {
                const double off = drift[x] - free[x] / marginal;
                drag += off * off / free[x];
            }
            if (w[x] > 0)
                drag += w[x] * (cap[x] - drift[x]) * (cap[x] - drift[x]);
        }
        const double more = sqrt(drag / total);
        for (int x = 0; x < n_x; x++) {
            const double root = sqrt(alpha[x]);
            n->scale[at + x] = root > 0 ? 1 / root : 0;
            n->hold[at + x] = root > 0 ? drift[x] / root + more * root : 0;
            drift[x] = is_capped ? drift[x] : 0;
        }
        n->drag[own] = is_capped ? drag : 1;
        n->alpha_total[own] = is_capped ? total : marginal > 0 ? 0 : -1;
    }
}

/* Curvature of the partial views' terms; an exact view's is a fixed, stiff one, alike for all rhat:
 * were it relative to p(rhat, y, x), the multipliers of letters that are hardly used would grow
 * without bound. */
VECTORISED static void curve_rows(Solver *k, const Iterate *it)
{
    const Problem *p = &k->p;
    const int n_x = p->n_x;
    for (int row = 0; row < p->n_rows; row++) {
        const int view = p->view_of_row[row];
        const bool is_exact = p->is_exact[view];
        const double smallest = k->n_row_groups ? SMALLEST_CAPPED : SMALLEST_WEIGHT;
        const double weight =
            is_exact ? k->row_stiffness[row] : fmax(weight_of(k, it, view), smallest);
        for (int rhat = 0; rhat < p->n_rhat; rhat++) {
            const size_t at = ((size_t)row * p->n_rhat + rhat) * n_x;
            const double *joint = is_exact ? k->row_mass + (size_t)row * n_x : it->row_joint + at;
            double marginal = 0;
            for (int x = 0; x < n_x; x++)
                marginal += joint[x];
            for (int x = 0; x < n_x; x++) {
                k->newton.alpha[at + x] = joint[x] / weight;
                k->newton.scale[at + x] = joint[x] > 0 ? sqrt(weight / joint[x]) : 0;
                k->newton.hold[at + x] =
                    k->newton.scale[at + x] * joint[x] / (marginal > 0 ? marginal : 1);
            }
        }
    }
    if (k->n_row_groups)
        curve_capped_rows(k);
}

/* Which rows meet where every view is a function of the history: in Newton's system those with a
 * common history, and while it is factorised those that meet through earlier rows. Going record by
 * record, also those that meet in the inverse of the factor, row' <= row. */
void find_meetings(Solver *k)
{
    const Problem *p = &k->p;
    const int n = p->n_rows;
    bool *meets = k->newton.meets;
    for (int z = 0; z < p->n_z; z++)
        for (int view = 0; view < p->n_views; view++)
            for (int other = 0; other < p->n_views; other++)
                meets[p->row_of_z[view * p->n_z + z] * n + p->row_of_z[other * p->n_z + z]] = true;
    for (int row = 0; row < n; row++)
        for (int a = row + 1; a < n; a++)
            for (int b = row + 1; b < n; b++)
                meets[a * n + b] |= meets[a * n + row] && meets[row * n + b];
    for (int row = 0; k->newton.order == RECORD_FIRST && row < n; row++)
        for (int through = row - 1; through > 0; through--)
            for (int to = 0; to < through; to++)
                meets[row * n + to] |= meets[row * n + through] && meets[through * n + to];
}

/* The rows' answer to forces on rows, [row, rhat][row', rhat'][x], where every view is a function
 * of the history. */
VECTORISED static void respond_by_shown(Solver *k)
{
    const Problem *p = &k->p;
    const int n_x = p->n_x, n_rhat = p->n_rhat, n_own = p->n_rows * n_rhat;
    double *out = k->newton.record_response, *response = k->newton.units;
    memset(out, 0, sizeof(double) * n_own * n_own * n_x);
    for (int z = 0; z < p->n_z; z++) {
        respond_to_units(k, z, response);
        work(k, (double)p->n_views * p->n_views * n_rhat * k->n_block);
        for (int a = 0; a < p->n_views; a++)
            for (int b = 0; b < p->n_views; b++) {
                const int row = p->row_of_z[a * p->n_z + z], other = p->row_of_z[b * p->n_z + z];
                for (int i = 0; i < n_rhat; i++)
                    for (int j = 0; j < n_rhat; j++) {
                        const double *own = response + (i * n_rhat + j) * n_x;
                        double *sum =
                            out + ((size_t)(row * n_rhat + i) * n_own + other * n_rhat + j) * n_x;
                        for (int x = 0; x < n_x; x++)
                            sum[x] += own[x];
                    }
            }
    }
}

/* The cells' answer to a unit force on one letter, as mass, for some records from ``first`` on:
 * [pair of letters][z][record]. It is the same for both orders of a pair. */
static void respond_to_pairs(const Solver *k, int first, int n_records, double *answers)
{
    const int n_x = k->p.n_x, n_rhat = k->p.n_rhat, n_z = k->p.n_z;
    memset(answers, 0, sizeof(double) * n_rhat * (n_rhat + 1) / 2 * n_z * RECORDS_AT_ONCE);
    for (int i = 0; i < n_rhat; i++)
        for (int j = 0; j < n_rhat; j++) {
            const int pair = i > j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i;
            const int of_own = i * (i + 3) / 2; /* 1 - share as the sum of the others' shares */
            for (int z = 0; i != j && z < n_z; z++) {
                const size_t at = (size_t)z * k->n_block + first;
                const double *massive = k->newton.massive + at + i * n_x;
                const double *share = k->newton.share + at + j * n_x;
                double *both = answers + ((size_t)pair * n_z + z) * RECORDS_AT_ONCE;
                double *own = answers + ((size_t)of_own * n_z + z) * RECORDS_AT_ONCE;
                for (int x = 0; x < n_records; x++) {
                    both[x] = -massive[x] * share[x];
                    own[x] += massive[x] * share[x];
                }
            }
        }
}

/* What two rows see of these answers, summed over histories, for all pairs of letters. */
VECTORISED static void add_seen(Solver *k, int row, int other, int first, int n_records)
{
    const Problem *p = &k->p;
    const int n_x = p->n_x, n_rhat = p->n_rhat, n_z = p->n_z, n_own = p->n_rows * n_rhat;
    const double *law_a = p->law + (size_t)row * n_z * n_x + first;
    const double *law_b = p->law + (size_t)other * n_z * n_x + first;
    double *seen = k->newton.units, *answer = seen + (size_t)n_z * RECORDS_AT_ONCE;
    for (int z = 0; z < n_z; z++)
        for (int x = 0; x < n_records; x++)
            seen[z * RECORDS_AT_ONCE + x] = law_a[(size_t)z * n_x + x] * law_b[(size_t)z * n_x + x];
    for (int i = 0; i < n_rhat; i++)
        for (int j = 0; j <= i; j++, answer += (size_t)n_z * RECORDS_AT_ONCE) {
            double sum[RECORDS_AT_ONCE] = {0};
            for (int at = 0; at < n_z * RECORDS_AT_ONCE; at += RECORDS_AT_ONCE)
                for (int x = 0; x < RECORDS_AT_ONCE; x++)
                    sum[x] += seen[at + x] * answer[at + x];
            const int of_row[] = {row * n_rhat + i, row * n_rhat + j};
            const int of_other[] = {other * n_rhat + j, other * n_rhat + i};
            for (int side = 0; side < 2; side++) {
                double *out = k->newton.record_response + first;
                const size_t one = of_row[side], two = of_other[side];
                memcpy(out + (one * n_own + two) * n_x, sum, sizeof(double) * n_records);
                memcpy(out + (two * n_own + one) * n_x, sum, sizeof(double) * n_records);
            }
        }
}

/* The same where views are laws. */
static void respond_by_laws(Solver *k)
{
    const Problem *p = &k->p;
    const size_t n_seen = (size_t)p->n_z * RECORDS_AT_ONCE;
    for (int first = 0; first < p->n_x; first += RECORDS_AT_ONCE) {
        const int n_records = p->n_x - first < RECORDS_AT_ONCE ? p->n_x - first : RECORDS_AT_ONCE;
        memset(k->newton.units, 0, sizeof(double) * n_seen);
        respond_to_pairs(k, first, n_records, k->newton.units + n_seen);
        for (int row = 0; row < p->n_rows; row++)
            for (int other = 0; other <= row; other++) {
                work(k, (double)n_seen * p->n_rhat * p->n_rhat);
                add_seen(k, row, other, first, n_records);
            }
    }
}

/* -- all together ---------------------------------------------------------------------------- */

/* False where rounding leaves no positive definite matrix. */
bool factorise(Solver *k, const Iterate *it)
{
    for (int i = 0; i < k->n_caps; i++)
        k->newton.cap_stiffness[i] = cap_stiffness(k, it, i);
    soften(k, it);
    k->newton.n_coupled = is_coupled(k) ? k->p.n_z : 0;
    if (k->newton.order == RECORD_FIRST) {
        k->newton.n_columns = number_columns(k);
        k->newton.n_left = k->newton.n_columns + rows_left(&k->p);
    } else if (k->newton.order == LETTER_FIRST)
        k->newton.n_left = number_letters(k);
    if (k->newton.order == HISTORY_FIRST && !factorise_histories(k))
        return false;
    if (!k->p.n_rows) /* the histories separate */
        return true;
    curve_rows(k, it);
    if (k->newton.order == CELLS_TOGETHER)
        return factorise_cells_together(k, it);
    if (k->newton.order == LETTER_FIRST)
        return factorise_letter_first(k);
    if (k->p.law)
        respond_by_laws(k);
    else
        respond_by_shown(k);
    return k->newton.order == HISTORY_FIRST ? factorise_history_first(k)
                                            : factorise_record_first(k);
}

/* -- refinement ------------------------------------------------------------------------------ */

/* u = l (da/a - db/b) of a change, row by row, from a/l. */
static void strain_rows(const Solver *k, const double *change, double *rows)
{
    const int n_x = k->p.n_x;
    const double *alphas = k->n_row_groups ? k->newton.own_alpha : k->newton.alpha;
    collect_mass(k, change, rows);
    for (int own = 0; own < k->p.n_rows * k->p.n_rhat; own++) {
        const double *alpha = alphas + (size_t)own * n_x;
        double *moved = rows + (size_t)own * n_x, all_moved = 0, all_alpha = 0;
        for (int x = 0; x < n_x; x++) {
            all_moved += moved[x];
            all_alpha += alpha[x];
        }
        const double marginal = all_alpha > 0 ? all_moved / all_alpha : 0;
        for (int x = 0; x < n_x; x++)
            moved[x] = alpha[x] > 0 ? moved[x] / alpha[x] - marginal : 0;
    }
}

/* The caps' forces on the groups under a change into k->pulled, those on rows into u as well. */
static void strain_caps(Solver *k, const double *change)
{
    collect_caps(k, change, k->caps);
    leave_rooms(k, k->caps, k->caps);
    for (int i = 0; i < k->n_caps; i++)
        k->caps[i] *= -k->newton.cap_stiffness[i];
    pull_caps(k, k->caps, k->pulled);
    for (int i = 0; i < k->n_row_groups * k->n_block; i++)
        k->newton.u[i] += k->pulled[i];
}

/* What the change leaves of the force, less its part along the sums, and how large that is. */
VECTORISED static double leave(Solver *k, const Iterate *it, const double *force,
                               const double *change, double *left)
{
    const int n_x = k->p.n_x, n_rhat = k->p.n_rhat;
    double *sum = k->newton.total, square = 0;
    strain_rows(k, change, k->newton.u);
    if (k->n_groups)
        strain_caps(k, change);
    for (int z = 0; z < k->p.n_z; z++) {
        const size_t at = (size_t)z * k->n_block;
        const double *mass = k->p.mass + (size_t)z * n_x, *share = k->newton.share + at;
        const double *c = it->c + at, *s = it->s + at, *dc = change + at;
        double *block = left + at;
        for (int rhat = 0; rhat < n_rhat; rhat++) {
            const double own = full_curvature(k, it, z, rhat);
            double moved = 0;
            for (int x = 0; x < n_x; x++)
                moved += mass[x] * dc[rhat * n_x + x];
            const double joint = it->history_joint[z * n_rhat + rhat];
            const double average = own * moved / (k->is_full_exact ? k->mass_z[z] : joint);
            for (int x = 0; x < n_x; x++) {
                const int i = rhat * n_x + x;
                const double stiff = k->is_full_exact ? s[i] / c[i] + own : (s[i] + own) / c[i];
                block[i] = force[at + i] + stiff * dc[i] - average;
            }
        }
        if (k->p.n_rows)
            add_spread(k, z, k->newton.u, block);
        if (k->n_groups > k->n_row_groups)
            for (int i = 0; i < k->n_block; i++)
                block[i] += k->pulled[(size_t)(k->n_row_groups + z) * k->n_block + i];
        memset(sum, 0, sizeof(double) * n_x);
        for (int rhat = 0; rhat < n_rhat; rhat++)
            for (int x = 0; x < n_x; x++)
                sum[x] += share[rhat * n_x + x] * block[rhat * n_x + x];
        for (int rhat = 0; rhat < n_rhat; rhat++)
            for (int x = 0; x < n_x; x++) {
                const int i = rhat * n_x + x;
                block[i] -= sum[x];
                square += k->newton.massive[at + i] * block[i] * block[i];
            }
    }
    return square;
}

/* What cells of no mass do, from what the change of the others leaves of the force there. */
static void settle_massless(Solver *k, const Iterate *it, const double *force, double *change)
{
    double *left = k->newton.cells.left;
    leave(k, it, force, change, left);
    for (int i = 0; i < k->n_cells; i++)
        if (!(k->p.mass[i / k->n_block * k->p.n_x + i % k->p.n_x] > 0))
            change[i] = -k->newton.softness[i] * left[i];
}

static void solve_once(Solver *k, const Iterate *it, const double *force, double *change)
{
    Newton *n = &k->newton;
    if (n->order == CELLS_TOGETHER) {
        solve_cells_together(k, force, change);
        if (n->cells.has_massless)
            settle_massless(k, it, force, change);
        return;
    }
    respond(k, n->massive, force, NULL, NULL, NULL, n->by_history, k->p.n_rows ? n->by_row : NULL);
    if (n->order == HISTORY_FIRST)
        solve_history_first(k);
    else if (n->order == LETTER_FIRST)
        solve_letter_first(k);
    else
        solve_record_first(k);
    respond(k, n->softness, force, n->y, k->p.n_rows ? n->u : NULL, change, NULL, NULL);
}

/* The channel's change under a force on its cells. Where weights differ by many orders of magnitude
 * the eliminations lose digits; what the change leaves of the force brings them back. */
void solve(Solver *k, const Iterate *it, const double *force, double *change)
{
    double *left = k->newton.left_force, *correction = k->newton.correction, size = 0;
    for (int i = 0; i < k->n_cells; i++)
        size += k->newton.massive[i] * force[i] * force[i];
    const double enough = RELATIVE_ACCURACY * RELATIVE_ACCURACY * size;
    double before = INFINITY;
    solve_once(k, it, force, change);
    for (int round = 0; round < REFINEMENTS; round++) {
        size = leave(k, it, force, change, left);
        if (round && !(size < before)) { /* the correction did not help: undo it */
            for (int i = 0; i < k->n_cells; i++)
                change[i] -= correction[i];
            break;
        }
        if (!(size > enough && size < 0.25 * before))
            break;
        solve_once(k, it, left, correction);
        for (int i = 0; i < k->n_cells; i++)
            change[i] += correction[i];
        before = size;
    }
}
