/* Caps: p(rhat, y, x) <= cap(y, x) p(rhat, y) for every letter rhat, one condition for each x.
 *
 * The rows of all partial views (where any is capped) and the histories (where full collusion is)
 * are "groups"; "caps" are [group][rhat][x]. With a = p(rhat, y, x), b its sum over x, and
 * multipliers m >= 0, the Lagrangian gains sum m (a - cap b): a force m - sum_x cap m on a.
 * Newton's system gains sum w (cap db - da)^2 / 2 with w = m / slack: see newton.c.
 */
#include "kernel.h"

#include <math.h>
#include <string.h>

#define GIVE 1e-6        /* beside mass: see cap_stiffness ... */
#define FRUGAL_GIVE 3e-9 /* ... and once the value is a limit, which leaves less room */
#define NEAR_CAP 0.4     /* share of a blind draw's room from which a cap is held */
#define LEAST_ROOM 1e-2  /* share of a cap's room that it gives at most */
#define FEW_GROUPS 16    /* rows, or histories, with caps that count from the start */

/* Half of the barrier by mass and half evenly, as for cells; less where a cap leaves little room to
 * all letters together, so that its multipliers begin near 1 there, too. */
void weigh_caps(Solver *k)
{
    const int n_x = k->p.n_x, n_of_rows = k->n_row_groups * n_x, n = k->n_groups * n_x;
    int n_capped = 0;
    for (int i = 0; i < n; i++) {
        const int z = i / n_x - k->n_row_groups;
        const double total = z < 0 ? k->row_total[i / n_x] : k->mass_z[z];
        k->cap[i] = z < 0 ? k->p.row_cap[i] : k->p.full_cap[i - n_of_rows];
        k->cap_mass[i] = z < 0 ? k->row_mass[i] : k->p.mass[i - n_of_rows];
        k->cap_room[i] = isfinite(k->cap[i]) ? k->cap[i] * total - k->cap_mass[i] : 0;
        n_capped += isfinite(k->cap[i]);
    }
    for (int i = 0; i < n; i++) {
        const double mass = k->cap_mass[i], share = fmin(1, k->cap_room[i] / fmax(mass, 1e-300));
        k->cap_barrier[i] = isfinite(k->cap[i]) ? share * (mass + 1.0 / n_capped) : 0;
        k->cap_rarity[i] = mass / (mass + 1.0 / (n_capped + 1));
    }
}

/* Masses of cells by group. */
VECTORISED void collect_caps(const Solver *k, const double *cells, double *joint)
{
    const int n_x = k->p.n_x;
    if (k->n_row_groups)
        collect_mass(k, cells, joint);
    double *own = joint + (size_t)k->n_row_groups * k->n_block;
    for (int z = 0; z < k->n_groups - k->n_row_groups; z++)
        for (int rhat = 0; rhat < k->p.n_rhat; rhat++) {
            const size_t at = (size_t)z * k->n_block + rhat * n_x;
            for (int x = 0; x < n_x; x++)
                own[at + x] = k->p.mass[(size_t)z * n_x + x] * cells[at + x];
        }
}

/* cap b - a of every cap; 1 where there is none. May be in place. */
VECTORISED void leave_rooms(const Solver *k, const double *joint, double *rooms)
{
    const int n_x = k->p.n_x, n_rhat = k->p.n_rhat;
    for (int own = 0; own < k->n_groups * n_rhat; own++) {
        const double *cap = k->cap + (size_t)(own / n_rhat) * n_x;
        const double *a = joint + (size_t)own * n_x;
        double *room = rooms + (size_t)own * n_x, b = 0;
        for (int x = 0; x < n_x; x++)
            b += a[x];
        for (int x = 0; x < n_x; x++)
            room[x] = cap[x] < INFINITY ? cap[x] * b - a[x] : 1;
    }
}

/* The force on a of multipliers, 0 where there is no cap. May be in place. */
VECTORISED void pull_caps(const Solver *k, const double *multiplier, double *forces)
{
    const int n_x = k->p.n_x, n_rhat = k->p.n_rhat;
    for (int own = 0; own < k->n_groups * n_rhat; own++) {
        const double *cap = k->cap + (size_t)(own / n_rhat) * n_x;
        const double *m = multiplier + (size_t)own * n_x;
        double *force = forces + (size_t)own * n_x, common = 0;
        for (int x = 0; x < n_x; x++)
            common += cap[x] < INFINITY ? cap[x] * m[x] : 0;
        for (int x = 0; x < n_x; x++)
            force[x] = (cap[x] < INFINITY ? m[x] : 0) - common;
    }
}

/* cells += what forces on the groups mean for them. */
void add_cap_forces(const Solver *k, const double *forces, double *cells)
{
    if (k->n_row_groups)
        for (int z = 0; z < k->p.n_z; z++)
            add_spread(k, z, forces, cells + (size_t)z * k->n_block);
    const double *own = forces + (size_t)k->n_row_groups * k->n_block;
    for (int i = 0; i < (k->n_groups - k->n_row_groups) * k->n_block; i++)
        cells[i] += own[i];
}

/* w = multiplier / slack, kept below 1 / give. While its multiplier moves, a cap gives way to it: a
 * proximal term, without which eliminations lose all digits near the end. Rare letters give less,
 * because their multipliers are larger. */
double cap_stiffness(const Solver *k, const Iterate *it, int cap)
{
    const int at = cap / k->n_block * k->p.n_x + cap % k->p.n_x;
    const double most = k->cap_mass[at] * (k->is_frugal ? FRUGAL_GIVE : GIVE);
    const double give = fmin(most, LEAST_ROOM * k->cap_room[at]) * k->cap_rarity[at];
    return it->cap_multiplier[cap] / (it->cap_slack[cap] + it->cap_multiplier[cap] * give);
}

/* p(rhat | y). */
static double share_of(const Solver *k, const Iterate *it, int group, int rhat)
{
    const double *joint = it->cap_joint + (size_t)group * k->n_block + rhat * k->p.n_x;
    double drawn = 0, total = 0;
    for (int x = 0; x < k->p.n_x; x++) {
        drawn += joint[x];
        total += k->cap_mass[(size_t)group * k->p.n_x + x];
    }
    return total > 0 ? drawn / total : 0;
}

/* Whether the rows, or the histories, are few: their caps cost little. */
bool has_few_groups(const Solver *k, bool are_rows)
{
    return (are_rows ? k->n_row_groups : k->n_groups - k->n_row_groups) <= FEW_GROUPS;
}

/* Whether a letter is near one of its caps, beside what this leaves to a blind draw. */
static bool is_near_cap(const Solver *k, const Iterate *it, int group, int rhat)
{
    const int n_x = k->p.n_x;
    const double *rooms = k->caps + (size_t)group * k->n_block + rhat * n_x;
    const double *cap = k->cap + (size_t)group * n_x, *room = k->cap_room + (size_t)group * n_x;
    const double near = NEAR_CAP * share_of(k, it, group, rhat);
    bool is_near = k->holds_all_caps || has_few_groups(k, group < k->n_row_groups);
    for (int x = 0; x < n_x; x++)
        is_near |= isfinite(cap[x]) && rooms[x] < near * room[x];
    return is_near;
}

/* Multipliers on the centre for the caps on one letter that have none; a cap that is exceeded gets
 * a slack as near ones have it. */
static void hold_letter(const Solver *k, Iterate *it, int group, int rhat, double barrier)
{
    const int n_x = k->p.n_x;
    for (int x = 0; x < n_x; x++) {
        const size_t i = (size_t)group * k->n_block + rhat * n_x + x, at = (size_t)group * n_x + x;
        if (!(k->cap_barrier[at] > 0) || it->cap_multiplier[i] > 0)
            continue;
        const double least = 0.1 * NEAR_CAP * share_of(k, it, group, rhat) * k->cap_room[at];
        it->cap_slack[i] = fmax(k->caps[i], least);
        it->cap_multiplier[i] = barrier * k->cap_barrier[at] / it->cap_slack[i];
    }
}

/* Hold caps. Those on a letter of a row or of a history are left out until it comes near them: most
 * never do. */
void hold_caps(Solver *k, Iterate *it, double barrier)
{
    const int n_x = k->p.n_x;
    leave_rooms(k, it->cap_joint, k->caps);
    for (int group = 0; group < k->n_groups; group++)
        for (int rhat = 0; rhat < k->p.n_rhat; rhat++) {
            bool *is_held = k->is_held + group * k->p.n_rhat + rhat;
            const bool is_new = !*is_held && is_near_cap(k, it, group, rhat);
            for (int x = 0; is_new && x < n_x; x++)
                k->n_pairs += k->cap_barrier[(size_t)group * n_x + x];
            *is_held |= is_new;
            if (*is_held)
                hold_letter(k, it, group, rhat, barrier);
        }
}

void start_caps(Solver *k, Iterate *it)
{
    for (int i = 0; i < k->n_caps; i++) {
        it->cap_slack[i] = 1;
        it->cap_multiplier[i] = 0;
    }
    hold_caps(k, it, 0.3 / k->p.n_rhat);
}

/* Weight of the channel in a mixture with a blind draw of each letter that meets every cap. A
 * letter is mixed as far as its own caps need it: rare letters may be far off and cost next to
 * nothing. */
double capped_share(const Solver *k, const Iterate *it)
{
    const int n_x = k->p.n_x, n_rhat = k->p.n_rhat;
    double mixed = 0;
    leave_rooms(k, it->cap_joint, k->caps);
    for (int rhat = 0; k->n_groups && rhat < n_rhat; rhat++) {
        double drawn = 0, share = 1;
        for (int z = 0; z < k->p.n_z; z++)
            drawn += it->history_joint[z * n_rhat + rhat];
        for (int group = 0; group < k->n_groups; group++) {
            for (int x = 0; x < n_x; x++) {
                const size_t at = (size_t)group * n_x + x;
                const double room = k->caps[(size_t)group * k->n_block + rhat * n_x + x];
                if (room < 0) {
                    const double blind = fmax(drawn * k->cap_room[at], 0);
                    share = fmin(share, blind / (blind - room));
                }
            }
        }
        mixed += (1 - share) * drawn;
    }
    return 1 - mixed;
}
