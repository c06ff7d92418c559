"""Places in an engine: how many are let in, and who is next."""

from hypothesis import given
from hypothesis import strategies as st

from tasks.engine.places import Places

items = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 5)), max_size=40)


def queue(*waiting: tuple[str, str, int | None]) -> Places[str]:
    places: Places[str] = Places()
    for item, group, at_most in waiting:
        places.wait(item, group, at_most)
    return places


def test_only_so_many_are_inside() -> None:
    places = queue(*((item, "g", 2) for item in "abcd"))
    assert list(places.let_in()) == ["a", "b"]
    assert list(places.let_in()) == []


def test_a_place_is_taken_again_as_soon_as_it_is_free() -> None:
    places = queue(*((item, "g", 2) for item in "abcd"))
    list(places.let_in())
    places.leave()
    assert list(places.let_in()) == ["c"]


def test_without_a_limit_nobody_waits() -> None:
    assert list(queue(*((item, "g", None) for item in "abcd")).let_in()) == ["a", "b", "c", "d"]


def test_the_group_that_came_first_goes_first() -> None:
    places = queue(("a1", "a", 1), ("b1", "b", 1), ("b2", "b", 1), ("a2", "a", 1))
    order: list[str] = []
    for _ in range(4):
        order += places.let_in()
        places.leave()
    assert order == ["a1", "a2", "b1", "b2"]


def test_those_that_are_given_up_are_not_let_in() -> None:
    places = queue(("a", "g", 1), ("b", "g", 1), ("c", "g", 1))
    list(places.let_in())
    assert sorted(places.give_up()) == ["b", "c"]
    places.leave()
    assert list(places.let_in()) == []


@given(items, st.lists(st.booleans(), max_size=60))
def test_everybody_is_let_in_once_and_never_too_many(waiting: list[tuple[str, int]], arrivals: list[bool]) -> None:
    places: Places[int] = Places()
    inside: set[int] = set()
    seen: list[int] = []

    def let_in() -> None:
        for number in places.let_in():
            assert len(inside) < waiting[number][1]
            inside.add(number)
            seen.append(number)

    for number, (group, at_most) in enumerate(waiting):
        places.wait(number, group, at_most)
        if arrivals and arrivals.pop():
            let_in()
    let_in()
    while inside:
        inside.pop()
        places.leave()
        let_in()
    assert sorted(seen) == list(range(len(waiting)))
