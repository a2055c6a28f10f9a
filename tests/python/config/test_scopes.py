"""Scopes: nesting, exceptions, decorators, threads and tasks that do not see each other."""

import asyncio
import contextvars
import threading

import pytest

import pypto


def timeout():
    return pypto.get_host_options()["compile_timeout"]


def scope(value, name=""):
    return pypto.options(name, host_options={"compile_timeout": value})


def test_nested_blocks():
    before = pypto.get_options_tree()
    with scope(1):
        with scope(2):
            pypto.set_host_options(compile_timeout=3)
            assert timeout() == 3
        assert timeout() == 1
        pypto.set_host_options(compile_timeout=4)
        assert timeout() == 4
    assert timeout() == 600
    assert pypto.get_options_tree() == before


def test_an_exception_restores():
    with pytest.raises(RuntimeError, match="inside"), scope(1):
        raise RuntimeError("inside")
    assert timeout() == 600


def test_reset_in_a_scope():
    with scope(1):
        with scope(2):
            pypto.reset_options()
            assert timeout() == 600
            pypto.set_host_options(compile_timeout=5)
            assert timeout() == 5
        assert timeout() == 1


def test_reset_outside_of_all_scopes():
    def body():
        pypto.set_host_options(compile_timeout=5)
        pypto.set_vec_tile_shapes(4)
        pypto.reset_options()
        return timeout(), pypto.get_vec_tile_shapes()

    assert contextvars.copy_context().run(body) == (600, [])


def test_the_same_block_again_and_inside_itself():
    block = scope(1)
    with block:
        pypto.set_host_options(compile_timeout=2)
        with block:
            assert timeout() == 1
        assert timeout() == 2
    with block:
        assert timeout() == 1
    assert timeout() == 600


def test_values_are_taken_when_the_block_is_made():
    values = {"pass_verify_pass_filter": ["a"]}
    block = pypto.options(verify_options=values)
    values["pass_verify_pass_filter"].append("b")
    with block:
        assert pypto.get_verify_options()["pass_verify_pass_filter"] == ["a"]


def test_decorator():
    @scope(1)
    def read(extra, *, keyword=0):
        """Text."""
        return timeout(), extra, keyword

    assert read(2, keyword=3) == (1, 2, 3)
    assert read.__doc__ == "Text."
    assert timeout() == 600
    with pytest.raises(TypeError, match="decorates a function, got int"):
        scope(1)(3)


def test_decorator_of_a_recursive_function():
    @scope(1)
    def read(depth):
        pypto.set_host_options(compile_timeout=timeout() + depth)
        return [timeout(), *read(depth - 1), timeout()] if depth else []

    assert read(2) == [3, 2, 2, 3]


def test_decorator_of_a_coroutine_function():
    @scope(1)
    async def read():
        await asyncio.sleep(0)
        return timeout()

    async def main():
        return await read(), timeout()

    assert asyncio.run(main()) == (1, 600)


def test_threads_start_from_the_defaults_and_keep_apart():
    seen = {}
    together = threading.Barrier(8)

    def body(number):
        first = timeout()
        with scope(number):
            together.wait()
            seen[number] = (first, timeout())
            together.wait()

    with scope(99):
        threads = [threading.Thread(target=body, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert timeout() == 99
    assert seen == {number: (600, number) for number in range(8)}


def test_tasks_inherit_and_keep_apart():
    async def body(number, ready, go):
        inherited = timeout()
        pypto.set_host_options(compile_timeout=number)
        ready.set()
        await go.wait()
        return inherited, timeout()

    async def main():
        with scope(7):
            go, ready = asyncio.Event(), [asyncio.Event(), asyncio.Event()]
            tasks = [asyncio.create_task(body(number, each, go)) for number, each in enumerate(ready)]
            for each in ready:
                await each.wait()
            go.set()
            return await asyncio.gather(*tasks), timeout()

    assert asyncio.run(main()) == ([(7, 0), (7, 1)], 7)


def test_generators_that_end_out_of_order():
    def generator(value):
        with scope(value):
            yield timeout()

    def body():
        first, second = generator(1), generator(2)
        assert (next(first), next(second)) == (1, 2)
        first.close()
        second.close()
        return timeout()

    assert contextvars.copy_context().run(body) == 600


def test_leaving_a_block_in_another_context_leaves_the_defaults():
    block = scope(1)
    block.__enter__()
    contextvars.Context().run(block.__exit__, None, None, None)
    assert timeout() == 1
    block.__exit__(None, None, None)
    assert timeout() == 600
