/* A primal-dual interior-point method for one convex release problem, in nats.
 *
 *     minimise    E cost + sum price * I(Rhat; X | Y) + frugality * I(Rhat; X | Z)
 *     subject to  I(Rhat; X | Y) <= budget  for every limited view, full collusion among them,
 *                 Rhat independent of X given Y  for every exact view,
 *                 p(rhat, y, x) <= cap(y, x) p(rhat, y)  for every capped view,
 *                 sum_rhat c = 1, c > 0.
 *
 * Nothing here is trusted: what is promised of an answer is proved afterwards, in Python, with a
 * bound on rounding, on the problem as it was stated.
 *
 * One history z is a block [rhat][x], and so is one row, a pair (partial view, letter y that it may
 * show). "Cells" are [z][rhat][x], "rows" are [row][rhat][x]; lists of views end with full
 * collusion, and lists of limits with the value itself: once its gap is closed it becomes a limit,
 * and I(Rhat; X | Z) is minimised ([M] fact 5).
 */
#ifndef TACIT_KERNEL_H
#define TACIT_KERNEL_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Raise it with every change of what Python and C share: functions, structs, the meaning of a
 * field. __init__.py holds the same number and refuses a library with another one. */
#define TACIT_ABI 9

/* Fortran's integer. BLAS and LAPACK take it by reference and may have 64 or 32 bits. One kernel
 * serves both: a 32-bit library reads and writes the low half, which comes first in memory. So set
 * info to 0 before a call, and only hand pivots back. __init__.py checks this when it loads. */
typedef int64_t Integer;

/* Fortran BLAS and LAPACK, of the library that NumPy links. */
typedef struct {
    void (*dgemv)(const char *trans, const Integer *m, const Integer *n, const double *alpha,
                  const double *a, const Integer *lda, const double *x, const Integer *incx,
                  const double *beta, double *y, const Integer *incy);
    void (*dtrmv)(const char *uplo, const char *trans, const char *diag, const Integer *n,
                  const double *a, const Integer *lda, double *x, const Integer *incx);
    void (*dsyrk)(const char *uplo, const char *trans, const Integer *n, const Integer *k,
                  const double *alpha, const double *a, const Integer *lda, const double *beta,
                  double *c, const Integer *ldc);
    void (*dtrmm)(const char *side, const char *uplo, const char *trans, const char *diag,
                  const Integer *m, const Integer *n, const double *alpha, const double *a,
                  const Integer *lda, double *b, const Integer *ldb);
    void (*dtrsm)(const char *side, const char *uplo, const char *trans, const char *diag,
                  const Integer *m, const Integer *n, const double *alpha, const double *a,
                  const Integer *lda, double *b, const Integer *ldb);
    void (*dgemm)(const char *trans_a, const char *trans_b, const Integer *m, const Integer *n,
                  const Integer *k, const double *alpha, const double *a, const Integer *lda,
                  const double *b, const Integer *ldb, const double *beta, double *c,
                  const Integer *ldc);
    void (*dgesv)(const Integer *n, const Integer *nrhs, double *a, const Integer *lda,
                  Integer *pivots, double *b, const Integer *ldb, Integer *info);
    void (*dgetrf)(const Integer *m, const Integer *n, double *a, const Integer *lda,
                   Integer *pivots, Integer *info);
    void (*dgetrs)(const char *trans, const Integer *n, const Integer *nrhs, const double *a,
                   const Integer *lda, const Integer *pivots, double *b, const Integer *ldb,
                   Integer *info);
    void (*dpotrf)(const char *uplo, const Integer *n, double *a, const Integer *lda,
                   Integer *info);
    void (*dpotrs)(const char *uplo, const Integer *n, const Integer *nrhs, const double *a,
                   const Integer *lda, double *b, const Integer *ldb, Integer *info);
    void (*dtrtri)(const char *uplo, const char *diag, const Integer *n, double *a,
                   const Integer *lda, Integer *info);
    void (*dgeqrf)(const Integer *m, const Integer *n, double *a, const Integer *lda, double *tau,
                   double *work, const Integer *lwork, Integer *info);
} Lapack;

/* What the kernel needs of Python's C interface: other threads run while it computes, and a signal
 * (Ctrl-C) or the clock ends it. */
typedef struct {
    void *(*release)(void);     /* PyEval_SaveThread */
    void (*acquire)(void *);    /* PyEval_RestoreThread */
    int (*check_signals)(void); /* PyErr_CheckSignals: not 0 once a handler has raised */
    double seconds_left;        /* until the solve ends without an answer; may be infinite */
} Interpreter;

/* Where a solve looks for signals, and where it returns to when one has come. */
typedef struct {
    const Interpreter *interpreter;
    void *thread; /* what release() returned */
    double work;  /* operations since the last look ... */
    double total; /* ... and until then */
    double most;  /* of them, after which the solve ends: the same on every machine */
    double end;   /* on the clock of now() */
    bool is_late, is_spent;
    jmp_buf stopped;
} Watch;

/* What is asked. The partial views either all read the history alone, or are all given by laws. */
typedef struct {
    int n_rhat, n_z, n_x, n_views, n_rows;
    const double *mass;     /* p(z, x): [z][x]; every z and every x has some */
    const double *cost;     /* E[d(rhat, R) | z, x], of order 1: cells */
    const int *view_of_row; /* [row] */
    const int *row_of_z;    /* the row that each view shows on each history: [view][z], or NULL */
    const double *law;      /* p(y | z, x): [row][z][x], or NULL */
    const double *budget;   /* nats left, infinite where there is no limit: [view] */
    const bool *is_exact;   /* views with no bits left: [view] */
    const double *price;    /* of a nat; a positive one replaces the limit: [view] */
    const double *row_cap;  /* of the partial views, infinite for none: [row][x], or NULL */
    const double *full_cap; /* of full collusion: [z][x], or NULL */
    double frugality;       /* weight on I(Rhat; X | Z) while the gap is being closed, positive */
    double gap_tol;         /* stop when the gap is below this ... */
    double frugal_tol;      /* ... and I(Rhat; X | Z) within this of the least, if it is slack */
    double row_stiffness;   /* curvature that holds the exact partial views' constraints */
    double rarest;          /* beside exact views, mass below which all cells' barriers are alike */
    bool is_multiplicative; /* whether steps scale a channel's entries instead of adding to them */
} Problem;

/* The best channel and the best proof met. */
typedef struct {
    double *channel;    /* strictly positive: cells */
    bool *is_zero;      /* entries of it that are 0 in the limit, by strict complementarity */
    double *witness;    /* the channel whose posteriors gave the best bound */
    double *multiplier; /* of that bound, prices included, frugality not: [view] */
    double *row_force;  /* of that bound: multipliers of the exact partial views: rows */
    double *full_force; /* and of exact full collusion: cells */
    double *row_cap;    /* and of the caps: rows */
    double *full_cap;   /* cells */
    double frugality;   /* of that bound */
    double bound;       /* on E cost and what is priced */
    double waste;       /* nats leaked to everyone beyond the least, where that was not reached */
    double work;        /* operations, about; on entry, after how many it ends, 0 for never */
    int steps;          /* Newton steps until the best channel */
    bool is_late;       /* whether time or work ran out: then nothing else here means anything */
} Outcome;

/* Everything that moves. */
typedef struct {
    double *c;              /* the channel, strictly positive: cells */
    double *s;              /* dual slacks of c >= 0: cells */
    double *multiplier;     /* of each limit, 0 where there is none: [limit] */
    double *slack;          /* what each limit leaves, 1 where there is none: [limit] */
    double *row_force;      /* rows */
    double *full_force;     /* cells */
    double *cap_multiplier; /* of each cap, 0 where there is none: caps */
    double *cap_slack;      /* what each cap leaves, 1 where there is none: caps */
    double *cap_joint;      /* p(rhat, y, x), and p(rhat, z, x) for full collusion: caps */
    double *row_joint;      /* p(rhat, y, x): rows */
    double *row_log_ratio;  /* log p(x | rhat, y) / p(x | y), the gradient of I(Rhat; X | Y) */
    double *history_joint;  /* p(rhat, z): [z][rhat] */
    double *full_log_ratio; /* log c / p(rhat | z), the gradient of I(Rhat; X | Z): cells */
    double *leakage;        /* I(Rhat; X | Y), and the value, E cost plus what is priced: [limit] */
    double *gradient;       /* of the Lagrangian per unit of mass, without sums and s: cells */
    double *residual;       /* what is left of the dual equation: cells */
} Iterate;

typedef struct {
    double *c, *s, *multiplier, *slack, *cap_multiplier, *cap_slack;
} Direction;

/* What is eliminated first from Newton's system: see record_first.c, letter_first.c,
 * history_first.c; nothing but the sums: see cells_together.c. */
typedef enum { HISTORY_FIRST, RECORD_FIRST, LETTER_FIRST, CELLS_TOGETHER } Order;

/* Unknowns of one letter that are left, [y1 | y2 | t1 | t2]: see letter_first.c. */
typedef struct {
    int first, of_t; /* where they begin, and where t1 does */
    int n_y1, n_y2;  /* histories that have a y1, and those that have a y2 ... */
    int *y1, *y2;    /* ... which they are */
    int n_t2, *t2;   /* the same of the rows that have a t2 */
} Shared;

/* Scratch for one record and letter: see letter_first.c. */
typedef struct {
    Shared *shared;                /* [rhat] */
    int n_leant;                   /* y2 of all letters */
    double *seen;                  /* W: [x][row][z] */
    double *answer, *alpha, *rows; /* [z], [row], [row] */
    double *lean, *drift;          /* of caps: [z], [row] */
    double *by_z;                  /* [z] */
    double *columns, *scratch;     /* for orthogonal factors */
    double *coupled;               /* P: [row][z | y2 | t1 | t2] */
    double *product;               /* P' P */
    double *cross;                 /* C: [z][y2 | t1 | t2] */
    double *factors, *sums;        /* F and B: [rhat][z][z] */
    double *others;                /* L^-1 times the sum of the others' B: [z][y2] */
    double *paired;                /* its product with L^-1 B, summed over x: [y2][z] */
    double *by_sums;               /* [x][z] */
} Letter;

/* The curvature of each letter by cells, n = |Z||X|: see cells_together.c. */
typedef struct {
    double *matrix;       /* A of one letter: [n][n] */
    double *factors;      /* inverse Cholesky factors: [rhat][n][n] */
    double *curvature;    /* of one row or history and letter: [x][x] */
    double *weights;      /* p(y, z, x) of one row: [z][x] ... */
    int *shown;           /* ... and for which histories: [z] */
    double *sides, *held; /* [rhat][n], [n] */
    double *left;         /* what the change leaves of the force: cells */
    bool has_massless;    /* whether some cells have no mass */
} Cells;

/* The factorised Newton system at one iterate: see newton.c. "Own" letters are pairs (row, rhat).
 */
typedef struct {
    Order order;
    int n_coupled; /* histories whose first y is among the unknowns left, held or not: all, or none
                    */
    int n_columns; /* y among them, going record by record */
    bool *meets;   /* which rows meet, NULL where all do: [row][row'] */
    int *met;      /* columns that one row meets: [n_left] */
    int *place;    /* where each column is among them: [n_left] */
    int *own_columns, *own_first; /* columns of each row of E, and where its first is: [row + 1] */
    int *column;                  /* their numbers, -1 for a y that is left to refinement: as y */
    Letter letter;
    Cells cells;
    Integer n_left;          /* unknowns after elimination */
    double *softness;        /* answer of a cell to a force, before its sum is held: cells */
    double *share;           /* softness / sum over rhat: cells */
    double *massive;         /* softness * mass: cells */
    double *history_block;   /* [z][rhat][rhat], twice as wide where full collusion is capped */
    double *rest;            /* p(rhat, z)/l_f less the answer summed over x: [z][rhat] */
    int *leant;              /* letters of each history with a second y: [z][rhat] ... */
    int *n_leant;            /* ... and how many before each: [z + 1] */
    double *history_scratch; /* four of [rhat][rhat] */
    double *sums_factor;     /* inverse Cholesky factors of N: [x][z][z] */
    double *history_factor;  /* inverse Cholesky factors of these */
    double *record_response; /* of the rows to forces on rows: [own][own'][x] */
    double *record_factor;   /* inverse Cholesky factors: [x][own][own'] */
    int *usual;              /* the letter that answers most to forces: [x] */
    double *coupling;        /* what is eliminated against what is left */
    double *gathered;        /* the part of it that two rows share, and its Gram matrix */
    double *system;          /* what is left: [n_left][n_left] */
    double *alpha;           /* 1 / curvature, of what is diagonal: rows */
    double *scale, *hold;    /* alpha^-1/2 and g of F: rows, see history_first.c */
    double *by_history, *y;  /* [z][rhat], twice where full collusion is capped */
    double *cap_stiffness;   /* w = multiplier / slack: caps */
    double *own_alpha;       /* alpha without the caps: rows */
    double *drift;           /* e = da/db of a letter that is left to itself: rows */
    double *drag;            /* q, the force per db that this takes: [row][rhat] */
    double *alpha_total;     /* alpha summed over x, 0 where no cap is: [row][rhat] */
    double *lean;            /* v = e / alpha of full collusion: cells */
    double *left_scale;      /* [n_left] */
    Integer *left_pivots;    /* [n_left] */
    double *by_row, *u;      /* rows */
    double *left;            /* [n_left] */
    double *left_force, *correction; /* cells */
    double *block;                   /* scratch: one history */
    double *units;                   /* scratch: [rhat][rhat][x], or answers of some records */
    double *own_block;               /* scratch: [own + 2][own'] */
    double *total;                   /* scratch: two of [x], or of [rhat] */
} Newton;

typedef struct {
    Problem p;
    const Lapack *lapack;
    Watch *watch;
    int n_cells, n_row_cells, n_limits, n_block;
    int value;                          /* the limit that stands for the value */
    int n_row_groups, n_groups, n_caps; /* see caps.c */
    bool is_full_exact, is_any_exact_row;
    double full_stiffness; /* curvature that holds exact full collusion's constraints */
    double frugality;
    bool is_frugal;        /* whether the gap is closed and I(Rhat; X | Z) is being minimised */
    double n_pairs;        /* complementary pairs, cells counted by the weight of their barrier */
    bool *is_limited;      /* [limit] */
    double *budget;        /* 1 where there is no limit: [limit] */
    double *barrier;       /* weight of each cell's barrier, over its mass: [z][x] */
    double *mass_z;        /* [z] */
    double *row_mass;      /* p(y, x): [row][x] */
    double *row_total;     /* p(y): [row] */
    double *row_stiffness; /* curvature that holds an exact view's constraints: [row] */
    double *log_row_prior; /* log p(x | y), 0 where it is never used: [row][x] */
    double least_constant; /* expected cost of the best constant release */
    Iterate now, next;
    Iterate early; /* to return to once the gap is closed; beside caps alone */
    bool has_early;
    Direction affine, direction, trial;
    double *cell_aim, *aim; /* products of complementary pairs to be reached: cells, [limit] */
    double *cap_aim;        /* caps */
    double *cap;            /* p(rhat, y, x) / p(rhat, y) at most, infinite for none: [group][x] */
    bool *is_held;          /* whether the caps on a letter count yet: [group][rhat] */
    bool holds_all_caps;    /* from the start */
    double *cap_barrier;    /* weight of its barrier: [group][x] */
    double *cap_mass;       /* p(y, x): [group][x] */
    double *cap_rarity;     /* 1 for a common letter and record, 0 for the rarest: [group][x] */
    double *cap_room;       /* cap p(y) - p(y, x), what it leaves to all letters: [group][x] */
    Newton newton;
    double *gradients;      /* of every limited leakage, times mass: [limit] cells */
    double *answers;        /* the channel's changes under them: [limit] cells */
    double *affine_free;    /* its change under the residual, multipliers held: cells */
    double *free, *force;   /* cells */
    double *schur, *factor; /* [limit][limit] */
    double *side;           /* [limit] */
    Integer *pivots;
    double *rows, *cells, *caps, *pulled; /* scratch */
    void *memory;                         /* what all of the above points into */
} Solver;

/* Loops that a compiler makes faster for wider vectors, chosen when the library is loaded. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTORISED
#endif

#define GRAM_SCRATCH 33    /* see invert_factor_of_gram */
#define RECORDS_AT_ONCE 16 /* whose answers fit into a processor's cache: see newton.c */

/* views.c */
void collect_block(const Solver *k, int z, const double *block, double *rows);
void collect_mass(const Solver *k, const double *cells, double *rows);
void add_spread(const Solver *k, int z, const double *rows, double *block);

/* caps.c */
void weigh_caps(Solver *k);
void collect_caps(const Solver *k, const double *cells, double *joint);
void leave_rooms(const Solver *k, const double *joint, double *rooms);
void pull_caps(const Solver *k, const double *multiplier, double *forces);
void add_cap_forces(const Solver *k, const double *forces, double *cells);
double cap_stiffness(const Solver *k, const Iterate *it, int cap);
bool has_few_groups(const Solver *k, bool are_rows);
void hold_caps(Solver *k, Iterate *it, double barrier);
void start_caps(Solver *k, Iterate *it);
double capped_share(const Solver *k, const Iterate *it);

/* lagrangian.c */
double weight_of(const Solver *k, const Iterate *it, int view);
double value_weight(const Solver *k, const Iterate *it);
void measure(const Solver *k, Iterate *it);
void settle(const Solver *k, Iterate *it);
void settle_residual(const Solver *k, Iterate *it);
double residual_norm(const Solver *k, const Iterate *it);
double complementarity(const Solver *k, const Iterate *it, const Direction *along, double step);
void row_pull(const Solver *k, const double *row_joint, double *rows);
void full_pull(const Solver *k, const double *c, double *cells);
double exact_error(const Solver *k, const Iterate *it);

/* newton.c */
Order choose_order(const Problem *p);
int n_parts(const Problem *p);
bool is_leant(const Solver *k, int z, int rhat);
int unknowns_left(const Problem *p, Order order);
bool factorise_left(Solver *k);
void solve_left(const Solver *k, double *side);
bool factorise(Solver *k, const Iterate *it);
void respond(const Solver *k, const double *softness, const double *force, const double *y,
             const double *u, double *change, double *by_history, double *by_row);
void solve(Solver *k, const Iterate *it, const double *force, double *change);

double full_curvature(const Solver *k, const Iterate *it, int z, int rhat);
void respond_to_units(const Solver *k, int z, double *response);
void find_meetings(Solver *k);

/* record_first.c */
bool factorise_record_first(Solver *k);
void solve_record_first(Solver *k);

/* letter_first.c */
void gather_views(Solver *k);
int number_letters(Solver *k);
bool factorise_letter_first(Solver *k);
void solve_letter_first(Solver *k);

/* cells_together.c */
bool factorise_cells_together(Solver *k, const Iterate *it);
void solve_cells_together(Solver *k, const double *force, double *change);

/* history_first.c */
bool shows(const Problem *p, int z, int row);
bool factorise_histories(Solver *k);
bool factorise_history_first(Solver *k);
void solve_history_first(Solver *k);

/* step.c */
double frugal_response(Solver *k);
bool advance(Solver *k);

/* bound.c */
double dual_value(const Solver *k, const Iterate *it);

/* memory.c */
bool open_solver(Solver *k, const Problem *p, const Lapack *lapack, Watch *watch);
void close_solver(Solver *k);
void copy_iterate(const Solver *k, const Iterate *from, Iterate *to);

/* watch.c */
void start_watch(Watch *watch, const Interpreter *interpreter, double most_work);
void end_watch(Watch *watch);
void work(const Solver *k, double n_operations);
double work_done(const Watch *watch);

/* dense.c */
bool invert_factor(const Solver *k, const double *a, Integer n, double *inverse);
bool invert_factor_of_gram(const Solver *k, double *columns, Integer n_rows, Integer n,
                           double *scratch, double *inverse);
bool cholesky(const Solver *k, double *a, int n, double *diagonal, int n_blocks, const bool *meets);
void solve_factored_blocks(const Solver *k, const double *factor, Integer size, int n_blocks,
                           const bool *meets, double *side);
void solve_factored(const Solver *k, const double *factor, Integer n, double *side);
void gram(const Solver *k, const double *a, int n_rows, int n, double *product);
void add_product(const Solver *k, const double *a, Integer n_rows, Integer n, const double *in,
                 double factor, double *out);
void add_product_of_transpose(const Solver *k, const double *a, Integer n_rows, Integer n,
                              const double *in, double factor, double *out);
void apply_lower(const Solver *k, const double *lower, Integer n, double *side);
void apply_lower_transposed(const Solver *k, const double *lower, Integer n, double *side);
void add_gram(const Solver *k, const double *a, Integer n_rows, Integer n, double factor,
              double *product);
void mirror(double *a, int n);
void gram_of_columns(const Solver *k, const double *a, Integer n_rows, Integer n, int first,
                     double *product);
void multiply_columns(const Solver *k, const double *a, Integer n_rows, Integer n, Integer n_first,
                      double *product);
void multiply(const Solver *k, const double *a, Integer n_rows, Integer n_across, Integer n_inner,
              const double *b, Integer n_columns, double *product);
void multiply_lower(const Solver *k, const double *lower, Integer n, double *b, Integer n_columns);
void apply_inverse(const double *inverse, int n, double *side, int stride, double *scratch);

#endif
