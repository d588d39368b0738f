/* Dense linear algebra: plain loops for blocks of a few letters, LAPACK for the rest.
 *
 * Matrices are symmetric and stored whole, or lower triangular, by rows; Fortran sees the
 * transpose.
 */
#include "kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SMALL 24
#define CALL_WORK 2e9 /* operations in one call of LAPACK: a fraction of a second */
#define BLOCK 256
#define CLEAR                                                                                      \
    1e-6 /* share of a column that is its own, above which Cholesky is accurate enough             \
          */

/* Rounding may make a positive definite matrix indefinite: the least jitter that helps. */
static const double JITTER[] = {0.0, 1e-15, 1e-13, 1e-11, 1e-9};
#define N_JITTERS 5

static bool factor_small(double *a, int n)
{
    for (int j = 0; j < n; j++) {
        double pivot = a[j * n + j];
        for (int i = 0; i < j; i++)
            pivot -= a[j * n + i] * a[j * n + i];
        if (!(pivot > 0))
            return false;
        const double root = sqrt(pivot);
        a[j * n + j] = root;
        for (int i = j + 1; i < n; i++) {
            double entry = a[i * n + j];
            for (int m = 0; m < j; m++)
                entry -= a[i * n + m] * a[j * n + m];
            a[i * n + j] = entry / root;
        }
    }
    return true;
}

static void invert_small(double *a, int n)
{
    for (int j = 0; j < n; j++) {
        a[j * n + j] = 1 / a[j * n + j];
        for (int i = j + 1; i < n; i++) {
            double entry = 0;
            for (int m = j; m < i; m++)
                entry -= a[i * n + m] * a[m * n + j];
            a[i * n + j] = entry / a[i * n + i];
        }
    }
}

static double largest_diagonal(const double *a, int n)
{
    double largest = a[0];
    for (int i = 1; i < n; i++)
        largest = fmax(largest, a[(size_t)i * n + i]);
    return largest;
}

/* inverse = L^-1 for a = L L'; false if even jitter does not help. */
bool invert_factor(const Solver *k, const double *a, Integer n, double *inverse)
{
    const double largest = largest_diagonal(a, n);
    for (int attempt = 0; attempt < N_JITTERS; attempt++) {
        memcpy(inverse, a, sizeof(double) * n * n);
        for (int i = 0; attempt && i < n; i++)
            inverse[(size_t)i * n + i] += JITTER[attempt] * (a[(size_t)i * n + i] + 1e-3 * largest);
        Integer info = 0;
        if (n <= SMALL)
            info = !factor_small(inverse, n);
        else
            k->lapack->dpotrf("U", &n, inverse, &n, &info);
        work(k, (double)n * n * n);
        if (info)
            continue;
        if (n <= SMALL)
            invert_small(inverse, n);
        else
            k->lapack->dtrtri("U", "N", &n, inverse, &n, &info);
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++)
                inverse[(size_t)i * n + j] = 0;
        return true;
    }
    return false;
}

/* The upper factor of a' a by Cholesky; false where a column is so close to those before it that
 * digits are lost. */
static bool factor_gram(const Solver *k, const double *columns, Integer n_rows, Integer n,
                        double *diagonal, double *upper)
{
    const double one = 1, none = 0;
    Integer info = 0;
    k->lapack->dsyrk("U", "T", &n, &n_rows, &one, columns, &n_rows, &none, upper, &n);
    work(k, (double)n_rows * n * n);
    for (int i = 0; i < n; i++)
        diagonal[i] = upper[(size_t)i * n + i];
    k->lapack->dpotrf("U", &n, upper, &n, &info);
    bool is_clear = !info;
    for (int i = 0; is_clear && i < n; i++) {
        const double pivot = upper[(size_t)i * n + i];
        is_clear = pivot * pivot > CLEAR * diagonal[i];
    }
    return is_clear;
}

/* The same by orthogonal factors, which keep the digits of what is small beside a' a. */
static void factor_columns(const Solver *k, double *columns, Integer n_rows, Integer n,
                           double *scratch, double *upper)
{
    const Integer n_work = (GRAM_SCRATCH - 1) * n;
    Integer info = 0;
    k->lapack->dgeqrf(&n_rows, &n, columns, &n_rows, scratch, scratch + n, &n_work, &info);
    work(k, 2.0 * n_rows * n * n);
    for (int column = 0; column < n; column++)
        memcpy(upper + (size_t)column * n, columns + (size_t)column * n_rows,
               sizeof(double) * (column + 1));
}

/* inverse = L^-1 for a' a = L L', a given by its columns, which may be lost; large rows come first.
 * Scratch has room for GRAM_SCRATCH * n. */
bool invert_factor_of_gram(const Solver *k, double *columns, Integer n_rows, Integer n,
                           double *scratch, double *inverse)
{
    Integer info = 0;
    if (!factor_gram(k, columns, n_rows, n, scratch, inverse))
        factor_columns(k, columns, n_rows, n, scratch, inverse);
    k->lapack->dtrtri("U", "N", &n, inverse, &n, &info);
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            inverse[(size_t)i * n + j] = 0;
    return !info;
}

/* What follows a block of columns, less what that block explains, column block by column block. */
static void update_rest(const Solver *k, double *a, Integer n, int first, Integer width)
{
    const Lapack *lapack = k->lapack;
    const double one = 1, minus = -1;
    for (int at = first + width; at < n; at += BLOCK) {
        const Integer own = at + BLOCK < n ? BLOCK : n - at, below = n - at - own;
        const double *rows = a + (size_t)first * n + at;
        double *corner = a + (size_t)at * n + at;
        lapack->dsyrk("L", "N", &own, &width, &minus, rows, &n, &one, corner, &n);
        if (below)
            lapack->dgemm("N", "T", &below, &own, &width, &minus, rows + own, &n, rows, &n, &one,
                          corner + own, &n);
        work(k, (double)own * width * (own + 2.0 * below));
    }
}

/* Cholesky, in place. LAPACK does it in one call where that is short; else block by block, so that
 * signals are seen in between. */
static bool factor_in_blocks(const Solver *k, double *a, Integer n)
{
    const Integer width_of_all = (double)n * n * n / 3 < CALL_WORK ? n : BLOCK;
    const double one = 1;
    for (int at = 0; at < n; at += width_of_all) {
        const Integer width = at + width_of_all < n ? width_of_all : n - at, below = n - at - width;
        double *corner = a + (size_t)at * n + at;
        Integer info = 0;
        k->lapack->dpotrf("L", &width, corner, &n, &info);
        if (info)
            return false;
        work(k, (double)width * width * (width / 3.0 + below));
        if (!below)
            break;
        k->lapack->dtrsm("R", "L", "T", "N", &below, &width, &one, corner, &n, corner + width, &n);
        update_rest(k, a, n, at, width);
    }
    return true;
}

/* The same for a matrix of ``size`` * ``size`` blocks, of which those that do not meet are 0. */
static bool factor_meeting(const Solver *k, double *a, Integer size, int n_blocks,
                           const bool *meets)
{
    const Integer n = size * n_blocks;
    const double one = 1, minus = -1;
    for (int at = 0; at < n_blocks; at++) {
        double *column = a + (size_t)at * size * n;
        Integer info = 0;
        k->lapack->dpotrf("L", &size, column + at * size, &n, &info);
        if (info)
            return false;
        for (int row = at + 1; row < n_blocks; row++) {
            double *own = column + row * size;
            if (!meets[row * n_blocks + at])
                continue;
            work(k, (double)size * size * size);
            k->lapack->dtrsm("R", "L", "T", "N", &size, &size, &one, column + at * size, &n, own,
                             &n);
            for (int to = at + 1; to <= row; to++) {
                double *entry = a + (size_t)to * size * n + row * size;
                if (!meets[to * n_blocks + at])
                    continue;
                work(k, (double)size * size * size);
                if (to == row)
                    k->lapack->dsyrk("L", "N", &size, &size, &minus, own, &n, &one, entry, &n);
                else
                    k->lapack->dgemm("N", "T", &size, &size, &size, &minus, own, &n,
                                     column + to * size, &n, &one, entry, &n);
            }
        }
    }
    return true;
}

/* Factorise in place. What lies below the diagonal is left alone: the copy to try again from. Where
 * the matrix is made of blocks, ``meets`` says which are not 0; NULL for none. */
bool cholesky(const Solver *k, double *a, int n, double *diagonal, int n_blocks, const bool *meets)
{
    for (int i = 0; i < n; i++)
        diagonal[i] = a[(size_t)i * n + i];
    const double largest = largest_diagonal(a, n);
    for (int attempt = 0; attempt < N_JITTERS; attempt++) {
        for (int i = 0; attempt && i < n; i++) {
            a[(size_t)i * n + i] = diagonal[i] + JITTER[attempt] * (diagonal[i] + 1e-3 * largest);
            for (int j = i + 1; j < n; j++)
                a[(size_t)i * n + j] = a[(size_t)j * n + i];
        }
        if (meets ? factor_meeting(k, a, n / n_blocks, n_blocks, meets) : factor_in_blocks(k, a, n))
            return true;
    }
    return false;
}

void solve_factored(const Solver *k, const double *factor, Integer n, double *side)
{
    const Integer one = 1;
    Integer info = 0;
    k->lapack->dpotrs("L", &n, &one, factor, &n, side, &n, &info);
}

/* The same for a matrix of blocks: see cholesky. */
void solve_factored_blocks(const Solver *k, const double *factor, Integer size, int n_blocks,
                           const bool *meets, double *side)
{
    const Integer n = size * n_blocks, unit = 1;
    const double one = 1, minus = -1;
    for (int at = 0; at < n_blocks; at++) {
        const double *column = factor + (size_t)at * size * n;
        k->lapack->dtrsm("L", "L", "N", "N", &size, &unit, &one, column + at * size, &n,
                         side + at * size, &size);
        for (int row = at + 1; row < n_blocks; row++)
            if (meets[row * n_blocks + at])
                k->lapack->dgemv("N", &size, &size, &minus, column + row * size, &n,
                                 side + at * size, &unit, &one, side + row * size, &unit);
    }
    for (int at = n_blocks - 1; at >= 0; at--) {
        const double *column = factor + (size_t)at * size * n;
        for (int row = at + 1; row < n_blocks; row++)
            if (meets[row * n_blocks + at])
                k->lapack->dgemv("T", &size, &size, &minus, column + row * size, &n,
                                 side + row * size, &unit, &one, side + at * size, &unit);
        k->lapack->dtrsm("L", "L", "T", "N", &size, &unit, &one, column + at * size, &n,
                         side + at * size, &size);
    }
}

/* out += factor a in, a of n_rows rows. */
void add_product(const Solver *k, const double *a, Integer n_rows, Integer n, const double *in,
                 double factor, double *out)
{
    const double kept = 1;
    const Integer one = 1;
    k->lapack->dgemv("T", &n, &n_rows, &factor, a, &n, in, &one, &kept, out, &one);
    work(k, (double)n * n_rows);
}

/* out += factor a' in. */
void add_product_of_transpose(const Solver *k, const double *a, Integer n_rows, Integer n,
                              const double *in, double factor, double *out)
{
    const double kept = 1;
    const Integer one = 1;
    k->lapack->dgemv("N", &n, &n_rows, &factor, a, &n, in, &one, &kept, out, &one);
    work(k, (double)n * n_rows);
}

/* side <- lower side. */
void apply_lower(const Solver *k, const double *lower, Integer n, double *side)
{
    const Integer one = 1;
    k->lapack->dtrmv("U", "T", "N", &n, lower, &n, side, &one);
}

/* side <- lower' side. */
void apply_lower_transposed(const Solver *k, const double *lower, Integer n, double *side)
{
    const Integer one = 1;
    k->lapack->dtrmv("U", "N", "N", &n, lower, &n, side, &one);
}

/* product += factor a' a, on and below Fortran's diagonal. */
void add_gram(const Solver *k, const double *a, Integer n_rows, Integer n, double factor,
              double *product)
{
    const double one = 1;
    const double each = (double)n * n;
    const int n_at_once = (int)fmin(n_rows, fmax(1, CALL_WORK / each));
    for (int row = 0; row < n_rows; row += n_at_once) {
        const Integer n_more = row + n_at_once < n_rows ? n_at_once : n_rows - row;
        k->lapack->dsyrk("L", "N", &n, &n_more, &factor, a + (size_t)row * n, &n, &one, product,
                         &n);
        work(k, each * n_more);
    }
}

/* The other half of a symmetric matrix of which add_gram filled one. */
void mirror(double *a, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            a[(size_t)j * n + i] = a[(size_t)i * n + j];
}

/* product = a' a, whole. */
void gram(const Solver *k, const double *a, int n_rows, int n, double *product)
{
    memset(product, 0, sizeof(double) * n * n);
    add_gram(k, a, n_rows, n, 1, product);
    mirror(product, n);
}

/* The same for the columns from ``first`` on. */
void gram_of_columns(const Solver *k, const double *a, Integer n_rows, Integer n, int first,
                     double *product)
{
    const Integer own = n - first;
    const double one = 1, none = 0;
    k->lapack->dsyrk("L", "N", &own, &n_rows, &one, a + first, &n, &none, product, &own);
    work(k, (double)own * own * n_rows);
    mirror(product, own);
}

/* product = a1' a2, a1 the first columns of a and a2 the others. */
void multiply_columns(const Solver *k, const double *a, Integer n_rows, Integer n, Integer n_first,
                      double *product)
{
    const Integer own = n - n_first;
    const double one = 1, none = 0;
    k->lapack->dgemm("N", "T", &own, &n_first, &n_rows, &one, a + n_first, &n, a, &n, &none,
                     product, &own);
    work(k, (double)own * n_first * n_rows);
}

/* product = a b, the first n_inner of a's n_across columns, b of n_columns. */
void multiply(const Solver *k, const double *a, Integer n_rows, Integer n_across, Integer n_inner,
              const double *b, Integer n_columns, double *product)
{
    const double one = 1, none = 0;
    k->lapack->dgemm("N", "N", &n_columns, &n_rows, &n_inner, &one, b, &n_columns, a, &n_across,
                     &none, product, &n_columns);
    work(k, (double)n_rows * n_inner * n_columns);
}

/* b <- lower b, b of n rows. */
void multiply_lower(const Solver *k, const double *lower, Integer n, double *b, Integer n_columns)
{
    const double one = 1;
    if (n > SMALL) {
        const double each = (double)n * n;
        const int n_at_once = (int)fmin(n_columns, fmax(1, CALL_WORK / each));
        for (int at = 0; at < n_columns; at += n_at_once) {
            const Integer n_more = at + n_at_once < n_columns ? n_at_once : n_columns - at;
            k->lapack->dtrmm("R", "U", "N", "N", &n_more, &n, &one, lower, &n, b + at, &n_columns);
            work(k, each * n_more);
        }
        return;
    }
    for (int i = n - 1; i >= 0; i--) {
        double *row = b + (size_t)i * n_columns;
        for (int m = 0; m < n_columns; m++)
            row[m] *= lower[i * n + i];
        for (int j = 0; j < i; j++) {
            const double entry = lower[i * n + j], *other = b + (size_t)j * n_columns;
            for (int m = 0; m < n_columns; m++)
                row[m] += entry * other[m];
        }
    }
}

/* side <- a^-1 side, given L^-1 of a = L L'; side is read and written in steps of a stride, and
 * scratch has room for twice as many. */
void apply_inverse(const double *inverse, int n, double *side, int stride, double *scratch)
{
    double *given = scratch, *solved = scratch + n;
    for (int i = 0; i < n; i++) {
        given[i] = side[(size_t)i * stride];
        solved[i] = 0;
    }
    for (int i = 0; i < n; i++) {
        const double *row = inverse + (size_t)i * n;
        double entry = 0;
        for (int j = 0; j <= i; j++)
            entry += row[j] * given[j];
        for (int j = 0; j <= i; j++)
            solved[j] += row[j] * entry;
    }
    for (int i = 0; i < n; i++)
        side[(size_t)i * stride] = solved[i];
}
