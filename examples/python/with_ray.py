"""A model in Ray: an actor that serves it, and a stage of Ray Data. Both get it pickled by its path.

python with_ray.py model.pt     (pip install "ray[data]" numpy)
"""

import sys

import numpy as np
import ray

import tierup


@ray.remote
class Server:
    def __init__(self, model):
        self.executor = tierup.Executor(model, max_frames=2)

    async def classify(self, images):  # Many calls at once, in one process.
        scores = await self.executor.run_async(images)
        return scores.argmax(1)


class Classify:
    """One model in each worker; batches arrive read-only, from Ray's shared memory."""

    def __init__(self, model):
        self.model = model

    def __call__(self, batch):
        batch["digit"] = self.model(batch["image"]).argmax(1)
        return batch


def main(path):
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    model = tierup.load(path)
    images = np.random.default_rng(0).random((64, 1, 8, 8), dtype=np.float32)
    expected = model(images).argmax(1)

    server = Server.remote(model)
    answers = ray.get([server.classify.remote(images[i : i + 8]) for i in range(0, 64, 8)])
    assert np.array_equal(np.concatenate(answers), expected)

    data = ray.data.from_numpy(images).rename_columns({"data": "image"})
    rows = data.map_batches(Classify, fn_constructor_args=(model,), concurrency=2, batch_size=16).take_all()
    assert sorted(row["digit"] for row in rows) == sorted(expected)
    print(len(rows), "images")
    ray.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
