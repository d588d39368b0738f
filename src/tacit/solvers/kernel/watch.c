/* Signals during a solve. Python runs its handlers in the main thread, and only when that thread
 * asks: the kernel asks whenever it has done some tens of milliseconds of work. */
#include "kernel.h"

#define WORK_BETWEEN_LOOKS 1e8 /* operations; on a slow machine a tenth of a second */

void start_watch(Watch *watch, const Interpreter *interpreter)
{
    watch->interpreter = interpreter;
    watch->work = 0;
    watch->thread = interpreter->release();
}

void end_watch(Watch *watch)
{
    watch->interpreter->acquire(watch->thread);
}

/* Counts operations; where a signal's handler has raised, returns to the start of the solve. */
void work(const Solver *k, double n_operations)
{
    Watch *watch = k->watch;
    watch->work += n_operations;
    if (watch->work < WORK_BETWEEN_LOOKS)
        return;
    watch->work = 0;
    watch->interpreter->acquire(watch->thread);
    const bool is_raised = watch->interpreter->check_signals();
    watch->thread = watch->interpreter->release();
    if (is_raised)
        longjmp(watch->stopped, 1);
}
