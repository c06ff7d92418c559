"""Some things at a time, each in a thread that Prefect still knows the flow run of."""

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context

from tasks.engine import close_engine


def in_flight(work: Callable[[int], object], numbers: Iterable[int], most: int) -> None:
    """Do `work` for every number, begun in their order, at most so many at a time.

    The first error ends it: what has not begun is left, what is being done is waited for, the error is raised. An
    interruption closes the engine, so that nobody waits for answers that nobody wants any more.
    """
    pool = ThreadPoolExecutor(most, thread_name_prefix="chunk")
    try:
        # Prefect finds the flow run that a task belongs to in context variables, which threads don't inherit
        begun = [pool.submit(copy_context().run, work, number) for number in numbers]
        done, _ = wait(begun, return_when=FIRST_EXCEPTION)
        pool.shutdown(cancel_futures=True)
        for future in done:
            future.result()
    except (KeyboardInterrupt, SystemExit):
        pool.shutdown(wait=False, cancel_futures=True)
        close_engine()
        raise
