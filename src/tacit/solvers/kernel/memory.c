/* What a solve needs, in one piece of memory, and what stays fixed in it. */
#include "kernel.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64
#define RAREST 1e-25      /* mass below which all cells are alike */
#define RAREST_HELD 1e-12 /* mass below which all letters of an exact view are held alike */

/* Hands out doubles; without memory it only counts them. */
typedef struct {
    char *memory;
    size_t used;
} Arena;

static void *take(Arena *arena, size_t n_bytes)
{
    void *taken = arena->memory ? arena->memory + arena->used : NULL;
    arena->used += (n_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return taken;
}

static double *doubles(Arena *arena, size_t n)
{
    return take(arena, n * sizeof(double));
}

static void lay_out_iterate(const Solver *k, Arena *arena, Iterate *it)
{
    const size_t n_cells = k->n_cells, n_rows = k->n_row_cells, n_limits = k->n_limits;
    it->c = doubles(arena, n_cells);
    it->s = doubles(arena, n_cells);
    it->multiplier = doubles(arena, n_limits);
    it->slack = doubles(arena, n_limits);
    it->row_force = doubles(arena, n_rows);
    it->full_force = doubles(arena, k->is_full_exact ? n_cells : 0);
    it->cap_multiplier = doubles(arena, k->n_caps);
    it->cap_slack = doubles(arena, k->n_caps);
    it->cap_joint = doubles(arena, k->n_caps);
    it->row_joint = doubles(arena, n_rows);
    it->row_log_ratio = doubles(arena, n_rows);
    it->history_joint = doubles(arena, (size_t)k->p.n_z * k->p.n_rhat);
    it->full_log_ratio = doubles(arena, n_cells);
    it->leakage = doubles(arena, n_limits);
    it->gradient = doubles(arena, n_cells);
    it->residual = doubles(arena, n_cells);
}

/* What an iterate is made of; the rest is measured again. */
void copy_iterate(const Solver *k, const Iterate *from, Iterate *to)
{
    memcpy(to->c, from->c, sizeof(double) * k->n_cells);
    memcpy(to->s, from->s, sizeof(double) * k->n_cells);
    memcpy(to->multiplier, from->multiplier, sizeof(double) * k->n_limits);
    memcpy(to->slack, from->slack, sizeof(double) * k->n_limits);
    memcpy(to->row_force, from->row_force, sizeof(double) * k->n_row_cells);
    memcpy(to->cap_multiplier, from->cap_multiplier, sizeof(double) * k->n_caps);
    memcpy(to->cap_slack, from->cap_slack, sizeof(double) * k->n_caps);
    measure(k, to);
    settle(k, to);
}

static void lay_out_direction(const Solver *k, Arena *arena, Direction *direction)
{
    direction->c = doubles(arena, k->n_cells);
    direction->s = doubles(arena, k->n_cells);
    direction->multiplier = doubles(arena, k->n_limits);
    direction->slack = doubles(arena, k->n_limits);
    direction->cap_multiplier = doubles(arena, k->n_caps);
    direction->cap_slack = doubles(arena, k->n_caps);
}

static void lay_out_letter(const Solver *k, Arena *arena, Newton *n)
{
    const size_t n_rhat = k->p.n_rhat, n_z = k->p.n_z, n_rows = k->p.n_rows, n_x = k->p.n_x;
    const size_t n_own = n_z + n_rows, n_sums = n_z * n_z;
    const size_t n_shared = n_parts(&k->p) * n_z + (k->p.row_cap ? 2 : 1) * n_rows;
    const size_t n_widest = n_z > n_rows ? n_z : n_rows;
    const size_t n_columns =
        n_own * n_widest > n_rhat * n_sums ? n_own * n_widest : n_rhat * n_sums;
    Letter *letter = &n->letter;
    letter->shared = take(arena, n_rhat * sizeof(Shared));
    int *y1 = take(arena, n_rhat * n_z * sizeof(int)),
        *y2 = take(arena, n_rhat * n_z * sizeof(int));
    int *t2 = take(arena, n_rhat * n_rows * sizeof(int));
    for (size_t rhat = 0; arena->memory && rhat < n_rhat; rhat++)
        letter->shared[rhat] =
            (Shared){.y1 = y1 + rhat * n_z, .y2 = y2 + rhat * n_z, .t2 = t2 + rhat * n_rows};
    n->sums_factor = doubles(arena, n_x * n_sums);
    letter->seen = doubles(arena, n_x * n_rows * n_z);
    letter->answer = doubles(arena, n_z);
    letter->alpha = doubles(arena, n_rows);
    letter->lean = doubles(arena, n_z);
    letter->drift = doubles(arena, n_rows);
    letter->rows = doubles(arena, n_rows);
    letter->by_z = doubles(arena, n_z);
    letter->columns = doubles(arena, n_columns);
    letter->scratch = doubles(arena, GRAM_SCRATCH * n_widest);
    letter->coupled = doubles(arena, n_rows * n_shared);
    letter->product = doubles(arena, n_shared * n_shared);
    letter->cross = doubles(arena, n_z * (n_shared - n_z));
    letter->factors = doubles(arena, n_rhat * n_sums);
    letter->sums = doubles(arena, n_rhat * n_sums);
    letter->others = doubles(arena, k->p.full_cap ? n_rhat * n_sums : 0);
    letter->paired = doubles(arena, k->p.full_cap ? n_rhat * n_sums : 0);
    letter->by_sums = doubles(arena, n_x * n_z);
}

static void lay_out_cells(const Solver *k, Arena *arena, Newton *n)
{
    const size_t n_rhat = k->p.n_rhat, n_x = k->p.n_x, n_left = n->n_left;
    n->cells.matrix = doubles(arena, n_left * n_left);
    n->cells.factors = doubles(arena, n_rhat * n_left * n_left);
    n->cells.curvature = doubles(arena, n_x * n_x);
    n->cells.weights = doubles(arena, n_left);
    n->cells.shown = take(arena, k->p.n_z * sizeof(int));
    n->cells.sides = doubles(arena, n_rhat * n_left);
    n->cells.held = doubles(arena, n_left);
    n->cells.left = doubles(arena, k->n_cells);
}

static void lay_out_newton(const Solver *k, Arena *arena, Newton *n)
{
    const size_t n_rhat = k->p.n_rhat, n_z = k->p.n_z, n_x = k->p.n_x, n_block = k->n_block;
    const size_t n_own = n_rhat * k->p.n_rows, n_left = n->n_left, n_rows = k->n_row_cells;
    const bool is_record_first = n->order == RECORD_FIRST;
    const bool is_letter_first = n_own && n->order == LETTER_FIRST;
    n->softness = doubles(arena, k->n_cells);
    n->share = doubles(arena, k->n_cells);
    n->massive = doubles(arena, k->n_cells);
    n->history_block = doubles(arena, n_z * n_rhat * n_rhat * n_parts(&k->p) * n_parts(&k->p));
    const size_t n_factors = n->order == HISTORY_FIRST ? n_z : 0;
    n->history_factor =
        doubles(arena, n_factors * n_rhat * n_rhat * n_parts(&k->p) * n_parts(&k->p));
    n->leant = take(arena, n_factors * n_rhat * sizeof(int));
    n->n_leant = take(arena, (n_factors + 1) * sizeof(int));
    n->history_scratch = doubles(arena, 4 * n_rhat * n_rhat);
    n->rest = doubles(arena, n_z * n_rhat * (k->p.full_cap ? 3 : 1));
    const bool is_together = n_own && n->order == CELLS_TOGETHER;
    const bool has_response = !is_letter_first && !is_together;
    n->record_response = doubles(arena, has_response ? n_own * n_own * n_x : 0);
    size_t n_coupled = 0, n_gathered = 0, n_factor = 0;
    if (is_letter_first) {
        n_factor = n_x * n_rhat * k->p.n_rows * k->p.n_rows;
        n_coupled = n_x * n_z * n_left;
        lay_out_letter(k, arena, n);
    } else if (is_together) {
        lay_out_cells(k, arena, n);
    } else if (is_record_first) {
        n_factor = n_x * n_own * n_own;
        n_coupled = n_x * n_own * n_left;
        n_gathered = k->p.law || k->p.n_rows == 1 ? 0 : (n_x * n_rhat + n_left) * n_left;
    } else if (n_own) {
        const size_t n_of_part = n_z * n_rhat * n_block;
        n_coupled = n_parts(&k->p) * n_of_part;
        if (!k->p.row_of_z)
            n_gathered = n_z * n_rhat * n_left;
        else if (k->p.n_rows > 1)
            n_gathered = n_of_part + n_block * n_block;
    }
    n->record_factor = doubles(arena, n_factor);
    n->usual = take(arena, (is_record_first ? n_x : 0) * sizeof(int));
    const bool is_sparse = k->p.row_of_z && k->p.n_rows > 1 && has_response;
    n->meets = is_sparse ? take(arena, (size_t)k->p.n_rows * k->p.n_rows * sizeof(bool)) : NULL;
    const size_t n_met = is_record_first ? n_left : 0;
    n->met = take(arena, n_met * sizeof(int));
    n->place = take(arena, n_met * sizeof(int));
    n->own_columns = take(arena, (is_sparse ? n_met * k->p.n_views : 0) * sizeof(int));
    n->own_first = take(arena, (is_sparse ? k->p.n_rows + 1 : 0) * sizeof(int));
    n->column = take(arena, n_z * n_rhat * n_parts(&k->p) * sizeof(int));
    n->coupling = doubles(arena, n_coupled);
    n->gathered = doubles(arena, n_gathered);
    n->system = doubles(arena, n_left * n_left);
    n->alpha = doubles(arena, n_rows);
    n->scale = doubles(arena, n_rows);
    n->hold = doubles(arena, n_rows);
    n->by_history = doubles(arena, n_z * n_rhat * n_parts(&k->p));
    n->y = doubles(arena, n_z * n_rhat * n_parts(&k->p));
    n->cap_stiffness = doubles(arena, k->n_caps);
    n->own_alpha = doubles(arena, k->n_row_groups * n_block);
    n->drift = doubles(arena, k->n_row_groups * n_block);
    n->drag = doubles(arena, k->n_row_groups * n_rhat);
    n->alpha_total = doubles(arena, k->n_row_groups * n_rhat);
    n->lean = doubles(arena, k->p.full_cap ? k->n_cells : 0);
    n->left_scale = doubles(arena, k->n_groups ? n_left : 0);
    n->left_pivots = take(arena, (k->n_groups ? n_left : 0) * sizeof(Integer));
    n->by_row = doubles(arena, n_rows);
    n->u = doubles(arena, n_rows);
    n->left = doubles(arena, n_left);
    n->left_force = doubles(arena, k->n_cells);
    n->correction = doubles(arena, k->n_cells);
    n->block = doubles(arena, n_block);
    const size_t n_pairs = n_rhat * (n_rhat + 1) / 2;
    const size_t n_answers = k->p.law ? (1 + n_pairs) * n_z * RECORDS_AT_ONCE : 0;
    n->units = doubles(arena, n_answers > n_rhat * n_block ? n_answers : n_rhat * n_block);
    n->own_block = doubles(arena, is_record_first ? n_own * (n_own + 2) : 0);
    n->total = doubles(arena, 2 * (n_x + 2 * n_rhat));
}

static void lay_out(Solver *k, Arena *arena)
{
    const size_t n_limits = k->n_limits, n_cells = k->n_cells, n_rows = k->p.n_rows;
    k->is_limited = take(arena, n_limits * sizeof(bool));
    k->budget = doubles(arena, n_limits);
    k->mass_z = doubles(arena, k->p.n_z);
    k->row_mass = doubles(arena, n_rows * k->p.n_x);
    k->row_total = doubles(arena, n_rows);
    k->row_stiffness = doubles(arena, n_rows);
    k->log_row_prior = doubles(arena, n_rows * k->p.n_x);
    lay_out_iterate(k, arena, &k->now);
    lay_out_iterate(k, arena, &k->next);
    if (k->n_groups)
        lay_out_iterate(k, arena, &k->early);
    lay_out_direction(k, arena, &k->affine);
    lay_out_direction(k, arena, &k->direction);
    lay_out_direction(k, arena, &k->trial);
    lay_out_newton(k, arena, &k->newton);
    k->gradients = doubles(arena, n_limits * n_cells);
    k->answers = doubles(arena, n_limits * n_cells);
    k->affine_free = doubles(arena, n_cells);
    k->free = doubles(arena, n_cells);
    k->force = doubles(arena, n_cells);
    k->schur = doubles(arena, n_limits * n_limits);
    k->factor = doubles(arena, n_limits * n_limits);
    k->side = doubles(arena, n_limits);
    k->pivots = take(arena, n_limits * sizeof(Integer));
    k->rows = doubles(arena, k->n_row_cells);
    k->cells = doubles(arena, n_cells);
    k->caps = doubles(arena, k->n_caps);
    k->pulled = doubles(arena, k->n_caps);
    k->cap_aim = doubles(arena, k->n_caps);
    k->cap = doubles(arena, (size_t)k->n_groups * k->p.n_x);
    k->is_held = take(arena, (size_t)k->n_groups * k->p.n_rhat * sizeof(bool));
    k->cap_barrier = doubles(arena, (size_t)k->n_groups * k->p.n_x);
    k->cap_rarity = doubles(arena, (size_t)k->n_groups * k->p.n_x);
    k->cap_room = doubles(arena, (size_t)k->n_groups * k->p.n_x);
    k->cap_mass = doubles(arena, (size_t)k->n_groups * k->p.n_x);
    k->aim = doubles(arena, n_limits);
    k->cell_aim = doubles(arena, n_cells);
    k->barrier = doubles(arena, (size_t)k->p.n_z * k->p.n_x);
}

/* p(y, x), p(y) and log p(x | y) of every row, and how hard an exact view's row is held: rare
 * letters harder, because otherwise their constraints hardly count beside the others. A stiff
 * history answers forces on the rows that much less. */
static void weigh_rows(Solver *k)
{
    const Problem *p = &k->p;
    const int n_x = p->n_x;
    const double stiffness = (k->is_full_exact ? 1e2 : 1) * p->row_stiffness;
    memset(k->row_mass, 0, sizeof(double) * p->n_rows * n_x);
    for (int row = 0; row < p->n_rows; row++) {
        double *mass = k->row_mass + (size_t)row * n_x;
        const int view = p->view_of_row[row];
        for (int z = 0; z < p->n_z; z++)
            for (int x = 0; x < n_x; x++) {
                const double seen = p->row_of_z ? p->row_of_z[view * p->n_z + z] == row
                                                : p->law[((size_t)row * p->n_z + z) * n_x + x];
                mass[x] += seen * p->mass[(size_t)z * n_x + x];
            }
        k->row_total[row] = 0;
        for (int x = 0; x < n_x; x++)
            k->row_total[row] += mass[x];
        k->row_stiffness[row] = stiffness / sqrt(fmax(k->row_total[row], RAREST_HELD));
        for (int x = 0; x < n_x; x++)
            k->log_row_prior[row * n_x + x] = mass[x] > 0 ? log(mass[x] / k->row_total[row]) : 0;
    }
}

/* Half of the barrier is shared out by mass, so that rare cells do not shorten the steps, and half
 * evenly, so that Newton's model holds for rare cells, too. Beside exact views the rarest cells get
 * less of it: the multipliers of rare rows would otherwise be arbitrary and large. */
static void weigh_barrier(Solver *k)
{
    const int n = k->p.n_z * k->p.n_x;
    const bool is_any_exact = k->is_full_exact || k->is_any_exact_row;
    const double rarest = is_any_exact ? k->p.rarest : RAREST;
    int n_seen = 0;
    for (int i = 0; i < n; i++)
        n_seen += k->p.mass[i] > 0;
    for (int i = 0; i < n; i++)
        k->barrier[i] = 1 + 1 / (n_seen * fmax(k->p.mass[i], rarest));
    for (int i = 0; i < n; i++)
        k->n_pairs += k->p.mass[i] * k->barrier[i] * k->p.n_rhat;
}

static double least_constant_cost(const Solver *k)
{
    double least = INFINITY;
    for (int rhat = 0; rhat < k->p.n_rhat; rhat++) {
        double total = 0;
        for (int z = 0; z < k->p.n_z; z++)
            for (int x = 0; x < k->p.n_x; x++)
                total += k->p.mass[(size_t)z * k->p.n_x + x] *
                         k->p.cost[(size_t)z * k->n_block + rhat * k->p.n_x + x];
        least = fmin(least, total);
    }
    return least;
}

static void fill_in(Solver *k)
{
    const Problem *p = &k->p;
    k->n_pairs = 0;
    for (int view = 0; view <= p->n_views; view++) {
        k->is_limited[view] =
            isfinite(p->budget[view]) && !p->is_exact[view] && p->price[view] == 0;
        k->budget[view] = k->is_limited[view] ? p->budget[view] : 1;
        k->n_pairs += k->is_limited[view];
    }
    k->is_limited[k->value] = false;
    k->budget[k->value] = 1;
    for (int z = 0; z < p->n_z; z++) {
        k->mass_z[z] = 0;
        for (int x = 0; x < p->n_x; x++)
            k->mass_z[z] += p->mass[(size_t)z * p->n_x + x];
    }
    weigh_rows(k);
    weigh_barrier(k);
    weigh_caps(k);
    if (p->n_rows && k->newton.order == LETTER_FIRST)
        gather_views(k);
    if (k->newton.meets)
        find_meetings(k);
    k->least_constant = least_constant_cost(k);
}

/* Whether every index fits an int, as LAPACK wants it. */
static bool is_indexable(const Problem *p)
{
    const double n_rhat = p->n_rhat, n_z = p->n_z, n_x = p->n_x, n_rows = p->n_rows;
    const double n_own = n_rhat * n_rows;
    const double left_by_history = n_own * n_x, left_by_record = 2 * n_rhat * (n_z + n_rows);
    return n_rhat * n_z * n_x < INT_MAX && n_rhat * n_rhat * fmax(n_x, n_z) < INT_MAX &&
           n_own * n_own < INT_MAX && p->n_views * n_z < INT_MAX && left_by_history < INT_MAX &&
           left_by_record < INT_MAX;
}

/* False if there is not enough memory. */
bool open_solver(Solver *k, const Problem *p, const Lapack *lapack, Watch *watch)
{
    if (!is_indexable(p))
        return false;
    memset(k, 0, sizeof *k);
    k->p = *p;
    k->lapack = lapack;
    k->watch = watch;
    k->n_block = p->n_rhat * p->n_x;
    k->n_cells = p->n_z * k->n_block;
    k->n_row_cells = p->n_rows * k->n_block;
    k->n_limits = p->n_views + 2;
    k->value = p->n_views + 1;
    k->n_row_groups = p->row_cap ? p->n_rows : 0;
    k->n_groups = k->n_row_groups + (p->full_cap ? p->n_z : 0);
    k->n_caps = k->n_groups * k->n_block;
    k->holds_all_caps = has_few_groups(k, true) && has_few_groups(k, false);
    k->frugality = p->frugality;
    k->is_full_exact = p->is_exact[p->n_views];
    for (int view = 0; view < p->n_views; view++)
        k->is_any_exact_row |= p->is_exact[view];
    k->full_stiffness = 1e-2 * p->row_stiffness;
    k->newton.order = choose_order(p);
    k->newton.n_left = unknowns_left(p, k->newton.order);
    Arena arena = {NULL, 0};
    lay_out(k, &arena);
    k->memory = calloc(1, arena.used + ALIGNMENT);
    if (!k->memory)
        return false;
    const size_t off = (size_t)k->memory % ALIGNMENT;
    arena = (Arena){(char *)k->memory + (off ? ALIGNMENT - off : 0), 0};
    lay_out(k, &arena);
    fill_in(k);
    return true;
}

void close_solver(Solver *k)
{
    free(k->memory);
}
