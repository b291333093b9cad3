"""Patches that nobody calls are found."""

import json

import pytest
from patches import watched_patches


def test_a_patched_function_that_nobody_calls_is_found() -> None:
    with watched_patches() as unused, pytest.MonkeyPatch.context() as patched:
        patched.setattr(json, "loads", lambda text: text)
        patched.setattr("json.dumps", lambda value: value)
        assert unused == {"json.loads", "json.dumps"}
        assert json.loads("as it is") == "as it is"
        assert unused == {"json.dumps"}
        json.dumps("so that this test has none itself")


def test_a_method_is_patched_as_before() -> None:
    class Game:
        def score(self, bubbles: int) -> int:
            return bubbles

    def doubled(self: Game, bubbles: int) -> int:
        assert isinstance(self, Game)
        return 2 * bubbles

    with watched_patches() as unused, pytest.MonkeyPatch.context() as patched:
        patched.setattr(Game, "score", doubled)
        assert Game().score(3) == 6
    assert not unused and Game().score(3) == 3


def test_a_value_is_no_function() -> None:
    with watched_patches() as unused, pytest.MonkeyPatch.context() as patched:
        patched.setattr(json.decoder, "NaN", 1)
        assert not unused and json.decoder.NaN == 1
