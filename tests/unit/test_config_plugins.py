"""The settings of a plugin: file, variables, types, and mistakes that say where they are."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from sojourn.config_plugins import load_plugin_settings
from sojourn.core.errors import BadConfig
from sojourn.core.settings import Secret, Settings


@dataclass(frozen=True)
class Shop:
    token: Secret
    port: int = 80
    open: bool = True
    folder: Path = Path("/srv")
    friends: tuple[str, ...] = ()


def settings(table: dict, **variables: str) -> Settings:
    return Settings(
        values={}, origins={}, user_home=Path("/home/ada"), places={}, plugins={"my-shop": table}, variables=variables
    )


def test_the_file_fills_the_fields_in_their_types():
    table = {"token": "abc", "port": "81", "open": "no", "folder": "~/things", "friends": ["bob", "eve"]}
    made = load_plugin_settings(Shop, "my-shop", settings(table))
    assert made == Shop(Secret("abc"), 81, False, Path("/home/ada/things"), ("bob", "eve"))
    assert "abc" not in repr(made)


def test_a_variable_beats_the_file():
    made = load_plugin_settings(
        Shop, "my-shop", settings({"token": "abc"}, SOJOURN_MY_SHOP_TOKEN="xyz", SOJOURN_MY_SHOP_FRIENDS="a,b")
    )
    assert (made.token.reveal(), made.friends) == ("xyz", ("a", "b"))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, "needs `token`"),
        ({"token": "a", "prt": 1}, "no setting `prt`"),
        ({"token": "a", "port": "many"}, "not a whole number"),
        ({"token": "a", "open": "perhaps"}, "not yes or no"),
        ({"token": ["secret-thing"]}, "•••"),
    ],
)
def test_a_mistake_says_where_it_is(table, words):
    with pytest.raises(BadConfig, match="my-shop") as caught:
        load_plugin_settings(Shop, "my-shop", settings(table))
    assert words in str(caught.value)
    assert "secret-thing" not in str(caught.value)
