"""Trains the demo's model: a small convolutional network on the handwritten digits that scikit-learn ships.

    python tools/make_digits.py demo

Needs torch, scikit-learn and safetensors (only to make the files; the demo itself needs none of them). Writes
demo/digits.pt (TorchScript), demo/digits.safetensors (all held-out images and the model's answers by PyTorch),
demo/labels.json (the true digits) and demo/digits_train.safetensors (the other images, as 0..16, and their digits). Seeded: the same versions write the same files.
"""

import json
import pathlib
import sys

import safetensors.torch
import sklearn.datasets
import sklearn.model_selection
import torch


class Digits(torch.nn.Module):
    """Two convolutions, one hidden layer; takes images [N, 1, 8, 8] in 0..1, gives log-probabilities [N, 10]."""

    def __init__(self):
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(1, 16, 3, padding=1),
            torch.nn.BatchNorm2d(16),
            torch.nn.ReLU(),
            torch.nn.Conv2d(16, 24, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
        )
        self.classifier = torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(24 * 4 * 4, 32), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(32, 10)
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        if images.dim() != 4:
            raise ValueError("images must be [N, 1, 8, 8], got {} dimensions".format(images.dim()))
        return torch.log_softmax(self.classifier(self.features(images)), dim=1)


def train(model, images, labels):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(40):
        for batch in torch.randperm(len(images)).split(64):
            optimizer.zero_grad()
            torch.nn.functional.nll_loss(model(images[batch]), labels[batch]).backward()
            optimizer.step()


def main(folder):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    digits = sklearn.datasets.load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    split = sklearn.model_selection.train_test_split(images, torch.tensor(digits.target), test_size=0.2, random_state=1)
    train_images, test_images, train_labels, test_labels = split
    model = Digits()
    train(model, train_images, train_labels)
    model.eval()
    with torch.no_grad():
        answers = model(test_images)
    print("accuracy on the held-out part:", (answers.argmax(1) == test_labels).float().mean().item())
    torch.jit.script(model).save(str(folder / "digits.pt"))
    safetensors.torch.save_file(
        {"in.0": test_images.contiguous(), "out.0": answers.contiguous()},
        str(folder / "digits.safetensors"),
        metadata={"inputs": '{"tuple": [{"t": "in.0"}]}', "outputs": '{"t": "out.0"}', "rtol": "1e-4", "atol": "1e-5"},
    )
    train_file = {"images": (train_images * 16).to(torch.uint8).contiguous(), "labels": train_labels.to(torch.uint8)}
    safetensors.torch.save_file(train_file, str(folder / "digits_train.safetensors"))
    (folder / "labels.json").write_text(json.dumps(test_labels.tolist()) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
