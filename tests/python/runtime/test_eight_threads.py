"""Eight threads on one worker and on a worker each: every result is that of its own call, none waits for ever."""

import threading
from contextlib import ExitStack, closing

import pytest
import torch

from pypto.runtime import ChipWorker

THREADS, ROUNDS = 8, 40


def work(worker: ChipWorker, program, number: int, together: threading.Barrier, wrong: list[object]) -> None:
    """Synchronous and submitted calls with numbers that no other thread uses."""
    try:
        handle = worker.register(program)
        together.wait(60)
        for step in range(ROUNDS):
            value = float(number * 1000 + step)
            x, y = torch.full((8, 16), value), torch.ones(8, 16)
            resident = worker.alloc_tensor((8, 16), torch.float32, init=y)
            out, later = torch.empty(8, 16), torch.empty(8, 16)
            pending = handle.submit(x, y, later)
            handle(x, resident, out)
            pending.wait()
            if not (torch.equal(out, x + 1) and torch.equal(later, x + 1)):
                wrong.append((number, step))
            worker.free_tensor(resident)
    except Exception as error:  # what a thread raises would be lost
        wrong.append(error)


@pytest.mark.parametrize("workers", [1, THREADS])
def test_eight_threads(add_program, workers):
    with ExitStack() as stack:
        opened = [stack.enter_context(closing(ChipWorker())) for _ in range(workers)]
        before = [worker.memory_info()["resident"] for worker in opened]
        together, wrong = threading.Barrier(THREADS), []
        threads = [
            threading.Thread(target=work, args=(opened[i % workers], add_program, i, together, wrong), daemon=True)
            for i in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        assert wrong == []
        assert [worker.memory_info()["resident"] for worker in opened] == before
