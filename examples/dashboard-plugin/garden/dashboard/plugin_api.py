from fastapi import APIRouter

router = APIRouter()
plants = ["rose"]


@router.post("/plants")
async def plant(name: str) -> list[str]:
    plants.append(name)
    return plants
