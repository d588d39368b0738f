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
bool invert_factor(const Lapack *lapack, const double *a, int n, double *inverse)
{
    const double largest = largest_diagonal(a, n);
    for (int attempt = 0; attempt < N_JITTERS; attempt++) {
        memcpy(inverse, a, sizeof(double) * n * n);
        for (int i = 0; attempt && i < n; i++)
            inverse[(size_t)i * n + i] += JITTER[attempt] * (a[(size_t)i * n + i] + 1e-3 * largest);
        int info = 0;
        if (n <= SMALL)
            info = !factor_small(inverse, n);
        else
            lapack->dpotrf("U", &n, inverse, &n, &info);
        if (info)
            continue;
        if (n <= SMALL)
            invert_small(inverse, n);
        else
            lapack->dtrtri("U", "N", &n, inverse, &n, &info);
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++)
                inverse[(size_t)i * n + j] = 0;
        return true;
    }
    return false;
}

/* Factorise in place. What lies below the diagonal is left alone: the copy to try again from. */
bool cholesky(const Lapack *lapack, double *a, int n, double *diagonal)
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
        int info;
        lapack->dpotrf("L", &n, a, &n, &info);
        if (!info)
            return true;
    }
    return false;
}

void solve_factored(const Lapack *lapack, const double *factor, int n, double *side)
{
    int one = 1, info;
    lapack->dpotrs("L", &n, &one, factor, &n, side, &n, &info);
}

/* product = a' a, whole. */
void gram(const Lapack *lapack, const double *a, int n_rows, int n, double *product)
{
    const double one = 1, zero = 0;
    lapack->dsyrk("L", "N", &n, &n_rows, &one, a, &n, &zero, product, &n);
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            product[(size_t)j * n + i] = product[(size_t)i * n + j];
}

/* b <- lower b, b of n rows. */
void multiply_lower(const Lapack *lapack, const double *lower, int n, double *b, int n_columns)
{
    const double one = 1;
    if (n > SMALL) {
        lapack->dtrmm("R", "U", "N", "N", &n_columns, &n, &one, lower, &n, b, &n_columns);
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
