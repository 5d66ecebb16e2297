"""The page that explains how to add a badge: its example is counted and earned."""

from sojourn.achievements.factory import open_store_scans
from sojourn.testing.service_steps import opened, talk
from tests.docs.examples import example_app

PAGE = "add-a-badge.md"


async def test_the_example_is_earned(tmp_path):
    async with example_app(PAGE, tmp_path, agent__runtime="echo") as app:
        await talk(app.service, await opened(app.service), "I watered the roses for a good harvest.")
        coordinator = open_store_scans(app)
        assert coordinator.run_if_needed(force=True, wait=60)
        snapshot = coordinator.snapshots.get()
        coordinator.close()
        assert snapshot is not None, coordinator.last_error
        badges = {badge["id"]: badge for badge in snapshot["achievements"]}
        assert badges["green_thumb"]["unlocked"]
        assert badges["green_thumb"]["tier"] == "Copper"
        assert not badges["diligent_gardener"]["unlocked"]
