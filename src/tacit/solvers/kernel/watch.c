/* Signals, the clock and the work of a solve. Python runs its handlers in the main thread, and only
 * when that thread asks: the kernel asks whenever it has done some tens of milliseconds of work. */
#include <time.h>

#include "kernel.h"

#define WORK_BETWEEN_LOOKS 1e8 /* operations; on a slow machine a tenth of a second */

static double now(void)
{
    struct timespec clock;
    timespec_get(&clock, TIME_UTC);
    return (double)clock.tv_sec + 1e-9 * (double)clock.tv_nsec;
}

void start_watch(Watch *watch, const Interpreter *interpreter, double most_work)
{
    watch->interpreter = interpreter;
    watch->work = watch->total = 0;
    watch->end = now() + interpreter->seconds_left;
    watch->most = most_work;
    watch->is_late = watch->is_spent = false;
    watch->thread = interpreter->release();
}

void end_watch(Watch *watch)
{
    watch->interpreter->acquire(watch->thread);
}

/* Operations since the start. */
double work_done(const Watch *watch)
{
    return watch->total + watch->work;
}

/* Counts operations; where a signal's handler has raised, or the time or the work is over, returns
 * to the start of the solve. */
void work(const Solver *k, double n_operations)
{
    Watch *watch = k->watch;
    watch->work += n_operations;
    if (watch->work < WORK_BETWEEN_LOOKS)
        return;
    watch->total += watch->work;
    watch->work = 0;
    watch->interpreter->acquire(watch->thread);
    const bool is_raised = watch->interpreter->check_signals();
    watch->thread = watch->interpreter->release();
    watch->is_late = now() > watch->end;
    watch->is_spent = !is_raised && !watch->is_late && watch->total > watch->most;
    if (is_raised || watch->is_late || watch->is_spent)
        longjmp(watch->stopped, 1);
}
