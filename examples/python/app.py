"""An endpoint that awaits a model: `MODEL=model.pt uvicorn app:app` (Starlette; FastAPI is the same).

POST /classify with {"images": [[...64 pixels...], ...]} gives {"digits": [...]}.
"""

import array
import asyncio
import os

from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

import tierup

executor = tierup.Executor(os.environ["MODEL"], max_frames=8)


async def classify(request):
    images = (await request.json())["images"]
    pixels = array.array("f", [value for image in images for value in image])
    batch = memoryview(pixels).cast("B").cast("f", (len(images), 1, 8, 8))
    try:
        scores = await asyncio.wait_for(executor.run_async(batch), timeout=1.0)
    except tierup.InvalidArgument as error:
        return JSONResponse({"error": str(error)}, status_code=400)
    except (tierup.Exhausted, asyncio.TimeoutError):
        return JSONResponse({"error": "too busy"}, status_code=503)
    rows = scores.tolist()
    return JSONResponse({"digits": [max(range(10), key=row.__getitem__) for row in rows]})


app = Starlette(routes=[Route("/classify", classify, methods=["POST"])])
