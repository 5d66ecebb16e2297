"""Several machines and one folder: nothing is lost, nothing is there twice, and nobody else can write into it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sojourn.core.attachments import Attachment, user_message
from sojourn.core.errors import BadInput, Conflict
from sojourn.stores.postgres.store import PostgresStore
from sojourn.sync import run_lease
from sojourn.sync.bundles import open_group
from sojourn.sync.run_lease import hold_run
from sojourn.sync.session_path import root_of
from tests.integration.sync.machines import Machine, make_world


@pytest.fixture
async def two(tmp_path):
    """Anna has begun a group; Bert has its key, and both use the same folder."""
    anna, bert = Machine(tmp_path, "anna"), Machine(tmp_path, "bert")
    await anna.sync()
    bert.join(anna)
    bert.folder = anna.folder
    yield anna, bert
    await anna.store.close()
    await bert.store.close()


async def test_a_session_goes_there_and_back_with_its_files_title_and_folder(two):
    anna, bert = two
    made = await anna.store.create(title="Garden", cwd=str(anna.home.parent / "work"))
    data = b"\x89PNG" + bytes(range(256))
    digest = await anna.store.put_blob(made.id, data, media_type="image/png", name="rose.png")
    lease = await anna.store.lease(made.id, holder="test", surface="cli")
    file = Attachment(hash=digest, media_type="image/png", name="rose.png", size=len(data))
    await anna.store.append(lease, [user_message("What grows here?", (file,))])
    await anna.store.renew(lease, 0)
    await anna.sync()
    report = await bert.sync()
    assert (report.received, report.messages, report.refused) == (1, 1, [])
    found = await bert.store.get(made.id)
    assert (found.title, found.cwd) == ("Garden", str(bert.home.parent / "work"))
    assert await bert.store.get_blob(made.id, digest) == (data, "image/png")
    await bert.say(made.id, "A rose.")
    await bert.store.set_title(made.id, "Roses", instead_of="Garden")
    await bert.sync()
    await anna.sync()
    assert (await anna.texts(made.id))[-1] == "A rose."
    assert (await anna.store.get(made.id)).title == "Roses"
    assert (await anna.sync()).sent == (await bert.sync()).sent == 0  # nothing goes round for ever


async def test_two_that_went_on_with_one_session_keep_both_ways(two):
    anna, bert = two
    made = await anna.store.create(title="Plan")
    await anna.say(made.id, "Together")
    await anna.sync()
    await bert.sync()
    await anna.say(made.id, "Anna first", "Anna second")
    await bert.say(made.id, "Bert first")
    await bert.sync()
    report = await anna.sync()
    await bert.sync()
    [branch] = report.branches
    assert root_of(branch) == made.id
    for machine in (anna, bert):
        assert await machine.texts(made.id) == ["Together", "Anna first", "Anna second"]
        assert await machine.texts(branch) == ["Together", "Bert first"]
    await bert.say(made.id, "Bert goes on")
    await bert.sync()
    await anna.sync()
    assert (await anna.texts(made.id))[-1] == "Bert goes on"


async def test_a_forgotten_session_goes_everywhere_and_a_late_bundle_does_not_bring_it_back(two, tmp_path):
    anna, bert = two
    made = await anna.store.create(title="Secret")
    await anna.say(made.id, "Forget me")
    await anna.sync()
    await bert.sync()
    await bert.store.forget(made.id)
    await anna.say(made.id, "Said meanwhile")
    await bert.sync()
    assert (await anna.sync()).forgotten == 1
    cleo = Machine(tmp_path, "cleo")
    cleo.join(anna)
    await cleo.sync(anna.folder)
    for machine in (anna, bert, cleo):
        await machine.sync(anna.folder)
        assert await machine.ids() == []
    await cleo.store.close()


def newest(machine: Machine, folder: Path) -> Path:
    return max(folder.glob("*/*.bundle"), key=lambda path: (path.stat().st_mtime_ns, path.name))


@pytest.mark.parametrize("attack", ["changed", "truncated", "repeated", "renamed", "empty", "other key"])
async def test_a_bundle_that_is_not_genuine_is_refused_and_nothing_is_lost(two, tmp_path, attack):
    anna, bert = two
    made = await anna.store.create()
    for text in ("one", "two", "three"):
        await anna.say(made.id, text)
        await anna.sync()
        if text == "one":
            await bert.sync()
    last = newest(anna, anna.folder)
    good, second = last.read_bytes(), last.with_name(f"{int(last.stem) - 1:08}.bundle")
    match attack:
        case "changed":
            last.write_bytes(good[:-20] + bytes([good[-20] ^ 1]) + good[-19:])
        case "truncated":
            last.write_bytes(good[: len(good) // 2])
        case "repeated":
            last.write_bytes(second.read_bytes())
        case "renamed":
            last.rename(second)
        case "empty":
            last.write_bytes(b"")
        case "other key":
            mallory = Machine(tmp_path, "mallory")
            await mallory.sync()
            await mallory.store.create()
            await mallory.sync()
            shutil.copyfile(newest(mallory, mallory.folder), last)
            await mallory.store.close()
    report = await bert.sync()
    assert len(report.refused) == 1
    assert "Nothing of it was taken" in report.refused[0]
    assert await bert.texts(made.id) == (["one"] if attack == "renamed" else ["one", "two"])
    if attack != "renamed":
        last.write_bytes(good)
        assert (await bert.sync()).refused == []
        assert await bert.texts(made.id) == ["one", "two", "three"]


async def test_a_missing_bundle_makes_the_later_ones_wait(two):
    anna, bert = two
    made = await anna.store.create()
    for text in ("one", "two"):
        await anna.say(made.id, text)
        await anna.sync()
    last = newest(anna, anna.folder)
    first = last.with_name(f"{int(last.stem) - 1:08}.bundle")
    hidden = first.rename(first.with_suffix(".hidden"))
    report = await bert.sync()
    assert (report.refused, len(report.waiting), await bert.ids()) == ([], 1, [])
    hidden.rename(first)
    await bert.sync()
    assert await bert.texts(made.id) == ["one", "two"]


async def test_the_key_is_needed_private_and_never_in_the_folder(two, tmp_path):
    anna, bert = two
    [key] = bert.home.glob("sync-*.key")
    assert key.stat().st_mode & 0o777 == 0o600
    assert not list(anna.folder.rglob("*.key"))
    made = await anna.store.create(title="Wholly private words")
    await anna.sync()
    assert all(b"Wholly private" not in path.read_bytes() for path in anna.folder.glob("*/*"))
    key.chmod(0o644)
    with pytest.raises(BadInput, match="Others can read"):
        await bert.sync()
    key.unlink()
    with pytest.raises(BadInput, match="key of this folder's group is not here"):
        await bert.sync()
    assert made.id not in await bert.ids()


async def test_a_home_put_back_from_a_backup_reads_again_what_it_had_written(two, tmp_path):
    anna, _ = two
    made = await anna.store.create()
    await anna.say(made.id, "before")
    await anna.sync()
    saved = await anna.store.backup(tmp_path / "saved.db")
    await anna.say(made.id, "after")
    await anna.sync()
    again = Machine(tmp_path, "again", state=saved)
    shutil.copy2(next(anna.home.glob("sync-*.key")), again.home)
    await again.sync(anna.folder)
    assert await again.texts(made.id) == ["before", "after"]
    await again.store.close()


@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    ("seeds", "operations"), [(range(1, 3), 250), pytest.param(range(3, 103), 1000, marks=pytest.mark.soak)]
)
async def test_three_homes_end_equal_whatever_order_bundles_come_in(tmp_path, seeds, operations):
    branches = forgotten = 0
    for seed in seeds:
        world = make_world(tmp_path / str(seed), seed)
        first = world.machines[0]
        await first.sync()
        for other in world.machines[1:]:
            other.join(first)
        for number in range(operations):
            await world.act(number)
        await world.heal()
        await world.check()
        branches += sum(root_of(one) != one for one in await first.ids())
        forgotten += len(world.forgotten)
        for machine in world.machines:
            await machine.store.close()
        shutil.rmtree(tmp_path / str(seed))
    assert branches  # the machines were in each other's way
    assert forgotten


async def test_one_run_at_a_time_and_a_killed_one_does_not_block_for_long(two, monkeypatch):
    anna, bert = two
    key, _ = open_group(anna.folder, anna.home)
    async with hold_run(anna.store, key.group):
        with pytest.raises(Conflict, match="another process"):
            await anna.sync()
        await bert.sync()  # another home is not in the way
    monkeypatch.setattr(run_lease, "LEASE_SECONDS", 0.0)
    killed = hold_run(anna.store, key.group)
    lease = await killed.__aenter__()
    assert (await anna.sync()).refused == []
    with pytest.raises(Conflict):
        await lease.renew()


@pytest.mark.postgres
async def test_a_server_with_postgresql_takes_part(two, postgres_url):
    anna, bert = two
    await bert.store.close()
    bert.store = bert.app.store = PostgresStore(postgres_url)
    made = await anna.store.create(title="Garden")
    await anna.say(made.id, "one")
    await anna.sync()
    await bert.sync()
    await anna.say(made.id, "two")
    await bert.say(made.id, "three")
    gone = await bert.store.create(title="Gone")
    await bert.sync()
    await bert.store.forget(gone.id)
    await anna.sync()
    await bert.sync()
    await anna.sync()
    assert await anna.texts(made.id) == await bert.texts(made.id) == ["one", "two"]
    assert await anna.ids() == await bert.ids()
    assert len(await anna.ids()) == 2
