"""A model in a pool of processes: it is pickled by its path, and each process maps the same file.

python pool.py model.pt
"""

import array
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import tierup


def classify(model, image):
    pixels = memoryview(array.array("f", image)).cast("B").cast("f", (1, 1, 8, 8))
    (row,) = model(pixels).tolist()
    return max(range(10), key=row.__getitem__)


def main(path):
    model = tierup.load(path)
    images = [[shade / 16] * 64 for shade in range(8)]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        answers = list(pool.map(classify, [model] * len(images), images))
    assert answers == [classify(model, image) for image in images]
    print(answers)


if __name__ == "__main__":
    main(sys.argv[1])
