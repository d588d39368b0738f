/* Newton's system record by record: u = -Q^-1 (g + V' y + alpha beta) out, then y and beta = l
 * db/b.
 *
 * Q = alpha + (rows' own response), alpha = a/l, and what is left is M + E' Q^-1 E with
 * E = [V' | diag alpha].
 *
 * Where views are functions of the history, two rows meet only through histories that show both.
 * Views come from the finest to the coarsest, so that most of L^-1 E is 0, Q = L L'.
 */
#include "kernel.h"

#include <math.h>
#include <string.h>

/* A force on all letters of a row alike moves nothing, because sums are held. So the unknowns of a
 * record are, for each row, one such force m, in the place of the usual letter's, and how the other
 * letters' forces differ from it: u = m + d. The cells' stiff answers meet only the d, and do not
 * swamp what holds m. */
static void choose_usual_letters(Solver *k)
{
    const int n_x = k->p.n_x;
    for (int x = 0; x < n_x; x++) {
        double most = -1;
        for (int rhat = 0; rhat < k->p.n_rhat; rhat++) {
            double answer = 0;
            for (int z = 0; z < k->p.n_z; z++)
                answer += k->newton.massive[(size_t)z * k->n_block + rhat * n_x + x];
            if (answer > most) {
                most = answer;
                k->newton.usual[x] = rhat;
            }
        }
    }
}

/* Q of one record. A row and x of no mass is cut off by a unit on the diagonal. */
static void record_block(const Solver *k, int x, double *block)
{
    const int n_x = k->p.n_x, n_rhat = k->p.n_rhat, n_own = k->p.n_rows * n_rhat;
    const int usual = k->newton.usual[x];
    const bool *meets = k->newton.meets;
    for (int i = 0; i < n_own; i++)
        for (int j = 0; j < n_own; j++) {
            const bool is_met = !meets || meets[i / n_rhat * k->p.n_rows + j / n_rhat];
            block[i * n_own + j] =
                is_met && i % n_rhat != usual && j % n_rhat != usual
                    ? k->newton.record_response[(i * n_own + j) * (size_t)n_x + x]
                    : 0;
        }
    for (int i = 0; i < n_own; i++) {
        const int m = i / n_rhat * n_rhat + usual;
        const double alpha = k->newton.alpha[(size_t)i * n_x + x];
        const bool is_supported = k->row_mass[(size_t)(i / n_rhat) * n_x + x] > 0;
        block[m * n_own + m] += alpha;
        if (i != m) {
            block[i * n_own + i] += alpha;
            block[i * n_own + m] += alpha;
            block[m * n_own + i] += alpha;
        }
        block[i * n_own + i] += is_supported ? 0 : 1;
    }
}

/* E of every record where views are laws, or one row is shown: [x][row, rhat][z, rhat' | row',
 * rhat']. */
VECTORISED static void couple_records(Solver *k)
{
    const Problem *p = &k->p;
    const int n_x = p->n_x, n_rhat = p->n_rhat, n_own = p->n_rows * n_rhat, n = k->newton.n_left;
    double *coupling = k->newton.coupling, *response = k->newton.units;
    const int n_each = p->n_z * n_rhat, first = k->newton.n_columns;
    memset(coupling, 0, sizeof(double) * n_x * n_own * n);
    for (int z = 0; first && z < p->n_z; z++) {
        const int *column = k->newton.column + z * n_rhat;
        const double *lean = p->full_cap ? k->newton.lean + (size_t)z * k->n_block : NULL;
        respond_to_units(k, z, response);
        for (int row = 0; row < p->n_rows; row++) {
            work(k, (double)n_rhat * k->n_block);
            for (int i = 0; i < n_rhat; i++)
                for (int j = 0; j < n_rhat; j++)
                    for (int x = 0; column[j] >= 0 && x < n_x; x++) {
                        if (i == k->newton.usual[x])
                            continue;
                        const double seen =
                            p->row_of_z ? 1 : p->law[((size_t)row * p->n_z + z) * n_x + x];
                        double *to = coupling + ((size_t)x * n_own + row * n_rhat + i) * n;
                        to[column[j]] = seen * response[(i * n_rhat + j) * n_x + x];
                        if (lean && column[n_each + j] >= 0)
                            to[column[n_each + j]] = to[column[j]] * lean[j * n_x + x];
                    }
        }
    }
    for (int x = 0; x < n_x; x++)
        for (int i = 0; i < n_own; i++) {
            const int m = i / n_rhat * n_rhat + k->newton.usual[x];
            double *own = coupling + ((size_t)x * n_own + i) * n + first + i;
            double *all = coupling + ((size_t)x * n_own + m) * n + first + i;
            *own = *all = k->newton.alpha[(size_t)i * n_x + x];
            if (p->row_cap)
                own[n_own] = all[n_own] = k->newton.drift[(size_t)i * n_x + x];
        }
}

/* The columns of L^-1 E in which a row is not 0, in their order; how many. */
static int columns_of(const Solver *k, int row, int *columns)
{
    const Problem *p = &k->p;
    const Newton *n = &k->newton;
    const int n_rhat = p->n_rhat, n_y = n_parts(p) * p->n_z * n_rhat, n_own = p->n_rows * n_rhat;
    const bool *meets = n->meets + row * p->n_rows;
    int n_columns = 0;
    for (int i = 0; i < n_y; i++) {
        const int z = i / n_rhat % p->n_z;
        bool is_met = false;
        for (int view = 0; n->column[i] >= 0 && view < p->n_views; view++) {
            const int shown = p->row_of_z[view * p->n_z + z];
            is_met |= shown <= row && meets[shown];
        }
        if (is_met)
            columns[n_columns++] = n->column[i];
    }
    for (int i = 0; i < n->n_left - n->n_columns; i++) {
        const int other = i % n_own / n_rhat;
        if (other <= row && meets[other])
            columns[n_columns++] = n->n_columns + i;
    }
    return n_columns;
}

/* Number the columns in which each row of E is not 0: those of the histories that it shows, history
 * by history, and its own t. */
static void list_columns(Solver *k)
{
    const Problem *p = &k->p;
    Newton *n = &k->newton;
    const int n_rhat = p->n_rhat, n_each = p->n_z * n_rhat, n_own = p->n_rows * n_rhat;
    int *to = n->own_columns;
    for (int row = 0; row < p->n_rows; row++) {
        n->own_first[row] = to - n->own_columns;
        for (int z = 0; z < p->n_z; z++)
            for (int i = 0; shows(p, z, row) && i < n_parts(p) * n_rhat; i++) {
                const int column = n->column[i / n_rhat * n_each + z * n_rhat + i % n_rhat];
                if (column >= 0)
                    *to++ = column;
            }
        for (int i = 0; i < (p->row_cap ? 2 : 1) * n_rhat; i++)
            *to++ = n->n_columns + i / n_rhat * n_own + row * n_rhat + i % n_rhat;
    }
    n->own_first[p->n_rows] = to - n->own_columns;
}

/* E of every record where views are functions of the history, without what is 0: [row][x][rhat]
 * [column of the row]. */
VECTORISED static void couple_shown(Solver *k)
{
    const Problem *p = &k->p;
    Newton *n = &k->newton;
    const int n_x = p->n_x, n_rhat = p->n_rhat, n_each = p->n_z * n_rhat;
    double *response = n->units;
    memset(n->coupling, 0, sizeof(double) * n->own_first[p->n_rows] * k->n_block);
    memset(n->met, 0, sizeof(int) * p->n_rows); /* columns of each row that are filled in */
    for (int z = 0; z < p->n_z; z++) {
        const double *lean = p->full_cap ? n->lean + (size_t)z * k->n_block : NULL;
        respond_to_units(k, z, response);
        for (int view = 0; view < p->n_views; view++) {
            const int row = p->row_of_z[view * p->n_z + z], first = n->own_first[row];
            const int n_columns = n->own_first[row + 1] - first;
            double *coupling = n->coupling + (size_t)first * k->n_block;
            work(k, (double)n_rhat * k->n_block);
            for (int m = 0; m < n_parts(p) * n_rhat; m++) {
                const int part = m / n_rhat, j = m % n_rhat;
                if (n->column[part * n_each + z * n_rhat + j] < 0)
                    continue;
                double *to = coupling + n->met[row]++;
                for (int i = 0; i < n_rhat; i++)
                    for (int x = 0; x < n_x; x++)
                        if (i != n->usual[x])
                            to[(size_t)(x * n_rhat + i) * n_columns] =
                                response[(i * n_rhat + j) * n_x + x] *
                                (part ? lean[j * n_x + x] : 1);
            }
        }
    }
    for (int row = 0; row < p->n_rows; row++) {
        const int n_columns = n->own_first[row + 1] - n->own_first[row];
        double *coupling = n->coupling + (size_t)n->own_first[row] * k->n_block + n->met[row];
        for (int x = 0; x < n_x; x++)
            for (int i = 0; i < n_rhat; i++) {
                const size_t at = (size_t)(row * n_rhat + i) * n_x + x;
                double *own = coupling + (size_t)(x * n_rhat + i) * n_columns + i;
                double *all = coupling + (size_t)(x * n_rhat + n->usual[x]) * n_columns + i;
                *own = *all = n->alpha[at];
                if (p->row_cap)
                    own[n_rhat] = all[n_rhat] = n->drift[at];
            }
    }
}

/* One row of L^-1 E of one record, on the columns that it meets: [rhat][column]; ``place`` is where
 * each column of E comes. */
VECTORISED static void multiply_row(const Solver *k, int x, int row, int n_columns,
                                    const int *place, double *out)
{
    const Newton *n = &k->newton;
    const int n_rhat = k->p.n_rhat, n_own = k->p.n_rows * n_rhat;
    const double *inverse = n->record_factor + ((size_t)x * n_own + row * n_rhat) * n_own;
    memset(out, 0, sizeof(double) * n_rhat * n_columns);
    for (int other = 0; other <= row; other++) {
        const int first = n->own_first[other], n_others = n->own_first[other + 1] - first;
        const double *from =
            n->coupling + (size_t)first * k->n_block + (size_t)x * n_rhat * n_others;
        if (!n->meets[row * k->p.n_rows + other])
            continue;
        for (int i = 0; i < n_rhat; i++) {
            memset(n->left, 0, sizeof(double) * n_others);
            for (int j = 0; j < n_rhat; j++) {
                const double factor = inverse[i * n_own + other * n_rhat + j];
                for (int to = 0; to < n_others; to++)
                    n->left[to] += factor * from[j * n_others + to];
            }
            for (int to = 0; to < n_others; to++)
                out[i * n_columns + place[n->own_columns[first + to]]] += n->left[to];
        }
    }
}

/* system += the Gram matrix of one row of L^-1 E, all records and letters, the half of add_gram. */
static void add_row(Solver *k, int row)
{
    Newton *n = &k->newton;
    const int n_rhat = k->p.n_rhat, n_all = k->p.n_x * n_rhat;
    const int n_columns = columns_of(k, row, n->met);
    double *gathered = n->gathered, *product = gathered + (size_t)n_all * n_columns;
    for (int i = 0; i < n_columns; i++)
        n->place[n->met[i]] = i;
    for (int x = 0; x < k->p.n_x; x++) {
        work(k, (double)n_rhat * n_columns * (row + 1));
        multiply_row(k, x, row, n_columns, n->place, gathered + (size_t)x * n_rhat * n_columns);
    }
    if (n_columns == n->n_left) {
        add_gram(k, gathered, n_all, n_columns, 1, n->system);
        return;
    }
    memset(product, 0, sizeof(double) * n_columns * n_columns);
    add_gram(k, gathered, n_all, n_columns, 1, product);
    for (int i = 0; i < n_columns; i++)
        for (int j = i; j < n_columns; j++)
            n->system[(size_t)n->met[i] * n->n_left + n->met[j]] +=
                product[(size_t)i * n_columns + j];
}

/* The histories' own blocks. */
static void add_histories(Solver *k)
{
    const int n_rhat = k->p.n_rhat, n = n_parts(&k->p) * n_rhat, n_each = k->p.n_z * n_rhat;
    for (int z = 0; z < k->p.n_z; z++)
        for (int i = 0; i < n * n; i++) {
            const int a = i / n, b = i % n, *column = k->newton.column + z * n_rhat;
            const int row = column[a / n_rhat * n_each + a % n_rhat];
            const int to = column[b / n_rhat * n_each + b % n_rhat];
            if (row >= 0 && to >= 0)
                k->newton.system[(size_t)row * k->newton.n_left + to] +=
                    k->newton.history_block[(size_t)z * n * n + i];
        }
}

bool factorise_record_first(Solver *k)
{
    const Problem *p = &k->p;
    const int n_own = p->n_rows * p->n_rhat, n = k->newton.n_left;
    choose_usual_letters(k);
    if (k->newton.meets) {
        list_columns(k);
        couple_shown(k);
    } else
        couple_records(k);
    for (int x = 0; x < p->n_x; x++) {
        double *inverse = k->newton.record_factor + (size_t)x * n_own * n_own;
        record_block(k, x, k->newton.own_block);
        if (!invert_factor(k, k->newton.own_block, n_own, inverse))
            return false;
        if (!k->newton.meets)
            multiply_lower(k, inverse, n_own, k->newton.coupling + (size_t)x * n_own * n, n);
    }
    memset(k->newton.system, 0, sizeof(double) * n * n);
    if (!k->newton.meets)
        add_gram(k, k->newton.coupling, p->n_x * n_own, n, 1, k->newton.system);
    for (int row = 0; k->newton.meets && row < p->n_rows; row++)
        add_row(k, row);
    mirror(k->newton.system, n);
    add_histories(k);
    for (int i = 0; p->row_cap && i < n_own; i++) {
        const size_t of_t1 = k->newton.n_columns + i, of_t2 = of_t1 + n_own;
        k->newton.system[of_t1 * n + of_t1] -= k->newton.alpha_total[i];
        k->newton.system[of_t2 * n + of_t2] += k->newton.drag[i];
    }
    return factorise_left(k);
}

/* rows <- the m and d of Q^-1 rows, record by record. Beside ``push``, which acts on letters as
 * alpha and e do, rows are answers of the cells, which sum to 0 over the letters of a row. */
static void divide_by_record(const Solver *k, double *rows, const double *push)
{
    const int n_x = k->p.n_x, n_rhat = k->p.n_rhat, n_own = k->p.n_rows * n_rhat;
    work(k, 2.0 * n_own * n_own * n_x);
    for (int x = 0; x < n_x; x++) {
        for (int i = 0; i < n_own; i++) {
            const size_t m = (size_t)(i / n_rhat * n_rhat + k->newton.usual[x]) * n_x + x;
            const size_t at = (size_t)i * n_x + x;
            if (i % n_rhat == 0)
                rows[m] = 0;
            if (push && at != m)
                rows[at] += push[at];
            if (push)
                rows[m] += push[at];
        }
        apply_inverse(k->newton.record_factor + (size_t)x * n_own * n_own, n_own, rows + x, n_x,
                      k->newton.own_block);
    }
}

/* The sum over x of weight * u, letter by letter, u = m + d. */
static void weigh_forces(const Solver *k, const double *weight, const double *rows, double *sums)
{
    const int n_x = k->p.n_x, n_rhat = k->p.n_rhat;
    for (int i = 0; i < k->p.n_rows * n_rhat; i++) {
        sums[i] = 0;
        for (int x = 0; x < n_x; x++) {
            const int m = i / n_rhat * n_rhat + k->newton.usual[x];
            const double all = rows[(size_t)m * n_x + x];
            sums[i] +=
                weight[(size_t)i * n_x + x] * (i == m ? all : all + rows[(size_t)i * n_x + x]);
        }
    }
}

/* Leave out what acts on all letters of a row alike. */
static void drop_common_forces(const Solver *k, double *rows)
{
    const int n_x = k->p.n_x, n_rhat = k->p.n_rhat;
    for (int row = 0; row < k->p.n_rows; row++)
        for (int x = 0; x < n_x; x++)
            rows[(size_t)(row * n_rhat + k->newton.usual[x]) * n_x + x] = 0;
}

void solve_record_first(Solver *k)
{
    Newton *n = &k->newton;
    const int n_x = k->p.n_x, n_own = k->p.n_rows * k->p.n_rhat;
    const int n_y = n_parts(&k->p) * k->p.n_z * k->p.n_rhat;
    double *inner = n->by_row, *t1 = n->left + n->n_columns, *t2 = t1 + n_own;
    double *push = k->rows, *total = n_own ? n->u : NULL;
    divide_by_record(k, inner, NULL);
    weigh_forces(k, n->alpha, inner, t1);
    if (k->p.row_cap)
        weigh_forces(k, n->drift, inner, t2);
    drop_common_forces(k, inner);
    respond(k, n->massive, NULL, NULL, n_own ? inner : NULL, NULL, n->y, NULL);
    for (int i = 0; i < n_y; i++)
        if (n->column[i] >= 0)
            n->left[n->column[i]] = n->by_history[i] - n->y[i];
    for (int i = n->n_columns; i < n->n_left; i++)
        n->left[i] = -n->left[i];
    solve_left(k, n->left);
    for (int i = 0; i < n_y; i++)
        n->y[i] = n->column[i] >= 0 ? n->left[n->column[i]] : 0;
    respond(k, n->massive, NULL, n->y, NULL, NULL, NULL, total);
    for (int i = 0; i < k->n_row_cells; i++)
        push[i] = n->alpha[i] * t1[i / n_x] + (k->p.row_cap ? n->drift[i] * t2[i / n_x] : 0);
    divide_by_record(k, n->u, push);
    drop_common_forces(k, n->u);
    for (int i = 0; i < k->n_row_cells; i++)
        n->u[i] = -(inner[i] + n->u[i]);
}
