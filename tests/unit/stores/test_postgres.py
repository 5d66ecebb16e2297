"""Addresses, error translation and search literals of PostgreSQL, without a server."""

import pickle
import sys

import psycopg
import pytest
from psycopg import errors as pg

from sojourn import config
from sojourn.core import errors
from sojourn.core.messages import Message, assistant
from sojourn.stores import postgres
from sojourn.stores.postgres import index
from sojourn.stores.postgres.connect import PostgresAddress
from sojourn.stores.postgres.errors import translate
from sojourn.stores.postgres.history import PostgresHistory
from sojourn.stores.postgres.store import PostgresStore
from sojourn.text.query import parse_query
from sojourn.text.tokenizer import pair_term, tool_term

SECRET = "hunter2-s3cret"


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        (f"postgresql://ann:{SECRET}@db.example:6543/work", "postgresql://ann:•••@db.example:6543/work"),
        (f"postgresql://db.example/work?user=ann&password={SECRET}", "postgresql://ann:•••@db.example/work"),
        (f"host=db.example dbname=work user=ann password={SECRET}", "postgresql://ann:•••@db.example/work"),
        ("postgresql://ann@/work?host=/run/pg", "postgresql://ann@/work?host=/run/pg"),
        ("postgresql:///work", "postgresql://localhost/work"),
    ],
)
def test_an_address_is_shown_without_its_password(url, seen):
    assert str(PostgresAddress(url)) == seen
    assert SECRET not in repr(PostgresAddress(url)) + repr(PostgresHistory(url)) + repr(PostgresStore(url))


def test_what_the_address_says_beats_our_defaults():
    dialled = psycopg.conninfo.conninfo_to_dict(
        PostgresAddress("postgresql://h/d?connect_timeout=3&application_name=me").conninfo
    )
    assert (dialled["connect_timeout"], dialled["application_name"]) == ("3", "me")
    assert dialled["keepalives_idle"] == "30"


@pytest.mark.parametrize("secret", [f"{SECRET}/x", f"x@{SECRET}", f"12/{SECRET}", f"%%{SECRET}"])
def test_a_garbled_address_is_refused_without_quoting_it(secret):
    with pytest.raises(errors.BadConfig) as told:
        PostgresStore(f"postgresql://ann:{secret}@host/work")
    assert SECRET not in str(told.value) + told.value.hint + str(told.value.__context__)


@pytest.mark.parametrize(
    ("met", "ours"),
    [
        (pg.DiskFull("no space left"), errors.StoreFull),
        (pg.ReadOnlySqlTransaction("cannot execute INSERT in a read-only transaction"), errors.StoreReadOnly),
        (pg.LockNotAvailable("canceling statement due to lock timeout"), errors.StoreLocked),
        (pg.DeadlockDetected("deadlock detected"), errors.StoreLocked),
        (pg.DataCorrupted("invalid page in block 7"), errors.StoreCorrupt),
        (pg.InsufficientPrivilege("permission denied for schema public"), errors.StoreUnavailable),
        (pg.NumericValueOutOfRange("bigint out of range"), errors.BadInput),
        (pg.UniqueViolation("duplicate key"), errors.Conflict),
        (psycopg.OperationalError("connection refused"), errors.StoreUnavailable),
        (UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed"), errors.BadInput),
    ],
)
def test_each_error_becomes_ours_and_has_a_next_step(met, ours):
    told = translate(met, "postgresql://ann:•••@h/d")
    assert type(told) is ours
    assert told.hint


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ('FATAL: password authentication failed for user "ann"', "password"),
        ('FATAL: database "nope" does not exist', "createdb"),
        ("FATAL: the database system is starting up", "Wait"),
        ("connection refused", "server runs"),
    ],
)
def test_not_reaching_a_server_says_what_to_check(words, hint):
    assert hint in translate(psycopg.OperationalError(words), "postgresql://h/d").hint


def test_terms_are_written_as_a_set_and_looked_up_as_written():
    literal = index.to_tsvector(assistant("It's getUser"))
    assert {"'get'", "'getuser'", "'it'", "'s'", "'user'"} < set(literal.split())
    assert f"'{pair_term('get', 'user')}'" in literal
    assert index.to_tsvector(Message(role="user", content="…")) == ""
    asked = index.to_tsquery([term for one in parse_query("get_user conf*") for term in one.to_conditions(pairs=False)])
    assert asked == "('get' | 'getuser') & ('user' | 'getuser') & ('conf':*)"
    [phrase] = parse_query('"two words"')
    assert f"'{pair_term('two', 'words')}' | " in index.to_tsquery(phrase.to_conditions(pairs=True))


def test_a_tool_may_have_any_name():
    message = Message(role="tool", content="x", tool_name="o'x \\ \udcff é")
    literal = index.to_tsvector(message)
    literal.encode()  # no lone surrogate is left
    assert index.to_tsquery([(tool_term("o'x \\ \udcff é"),)]).strip("()") in literal


def test_terms_never_outgrow_what_postgres_takes(monkeypatch):
    huge = {chr(0x1D400 + n % 52) * 60 + str(n) for n in range(6000)}
    monkeypatch.setattr(index, "all_terms", lambda message: huge)
    assert 800_000 < len(index.to_tsvector(assistant("x")).encode()) <= 1_048_575


def test_a_history_travels_to_other_processes_as_its_address():
    there = pickle.loads(pickle.dumps(PostgresHistory("postgresql://h/d")))
    assert there.__reduce__() == (PostgresHistory, ("postgresql://h/d",))


def test_without_the_driver_the_extra_is_named(monkeypatch, home):
    monkeypatch.delitem(sys.modules, "sojourn.stores.postgres.store")
    monkeypatch.setitem(sys.modules, "psycopg_pool", None)
    for name in [name for name in sys.modules if name.startswith("sojourn.stores.postgres.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(errors.MissingPackage) as told:
        postgres.open_store(config.load({}, {"SOJOURN_DATABASE_URL": "postgresql://h/d"}))
    assert "`sojourn plugins install postgres`" in told.value.hint


def test_the_plugin_opens_the_database_of_the_settings(home):
    made = postgres.plugin.store(config.load({}, {"SOJOURN_DATABASE_URL": f"postgresql://ann:{SECRET}@h/d"}))
    assert str(made.address) == "postgresql://ann:•••@h/d"
