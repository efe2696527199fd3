"""What type checkers are to understand; run by mypy and pyright, not by Python."""

import asyncio
from concurrent.futures import Future

import tierup

model: tierup.Model = tierup.load("model.pt", threads=1, outputs="numpy")
with tierup.load("model.pt") as other:
    other(1, name=2)
signature: str = model.signature
state: dict[str, tierup.Tensor] = model.state_dict()
shape: tuple = state["weight"].shape

names: list[str] = [spec.name for spec in model.inputs]
text: str = str(model.explain())
model.load_state_dict({"weight": state["weight"]}, strict=False)



async def served(executor: tierup.Executor) -> object:
    return await executor.run_async(1)


with tierup.Executor(model, max_frames=2) as executor:
    future: Future = executor.submit(1)
    generation: int = executor.swap_weights("new.safetensors")
    asyncio.run(served(executor))

try:
    model()
except tierup.ModelError as error:
    code: str = error.code
    lines: tuple[str, ...] = error.context
