"""Task2Vec against per-example Jacobians in float64, class by class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info, threadpool_limits
from torch import Tensor, nn
from torch.func import functional_call, jacrev

from anyshot_analysis.diversity import task2vec
from anyshot_analysis.diversity.fisher import UnsupportedModule
from anyshot_analysis.diversity.task2vec import NotEmbeddable, embed_task, fit_head, frozen_features


class Small(nn.Module):
    """Every layer that has a rule: plain, strided and grouped convolutions, three norms, a skip, linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 6, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(6)
        self.relu = nn.ReLU(inplace=True)
        self.grouped = nn.Conv2d(6, 6, 3, padding=1, groups=3, bias=False)
        self.group_norm = nn.GroupNorm(2, 6)
        self.wide = nn.Conv2d(6, 10, 3, padding=1)
        self.mlp = nn.Linear(10, 7)
        self.layer_norm = nn.LayerNorm(7)
        self.last = nn.Linear(7, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu(self.norm(self.first(x)))
        x = x + self.group_norm(self.grouped(x))
        x = torch.tanh(self.wide(nn.functional.avg_pool2d(x, 2)))
        x = self.layer_norm(self.mlp(x.flatten(2).transpose(1, 2)))
        return torch.tanh(self.last(x.mean(dim=1)))


def make_task(classes: int, seed: int = 0) -> tuple[Small, Tensor, np.ndarray]:
    torch.manual_seed(seed)
    network = Small().double()
    for _ in range(3):
        network.train()(
            torch.rand(8, 3, 12, 12, dtype=torch.float64)
        )  # running statistics that are not 0 and 1
    return network, torch.rand(9, 3, 12, 12, dtype=torch.float64), np.arange(9) % classes


def fisher_by_jacobians(network: Small, images: Tensor, labels: np.ndarray) -> np.ndarray:
    """E_x E_y of squared gradients of log p(y|x), by differentiating every log-probability of every image."""
    network.eval()
    head = fit_head(frozen_features(network, images), labels)
    weight, bias = torch.from_numpy(head.weight), torch.from_numpy(head.bias)
    parameters = {name: p.detach() for name, p in network.named_parameters()}

    def log_probabilities(values: dict[str, Tensor], image: Tensor) -> Tensor:
        features = functional_call(network, (values, dict(network.named_buffers())), (image[None],))
        return torch.log_softmax(features[0] @ weight.T + bias, dim=0)

    total = {name: torch.zeros_like(p) for name, p in parameters.items()}
    for image in images:
        p = log_probabilities(parameters, image).exp()
        jacobian = jacrev(log_probabilities)(parameters, image)
        for name in total:
            total[name] += torch.einsum("c,c...->...", p, jacobian[name].square()) / len(images)
    filters = [t.reshape(len(t), -1).mean(dim=1) for name, t in total.items() if name.endswith("weight")]
    return torch.cat(filters).numpy()


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_the_embedding_is_the_exact_fisher_information(classes: int) -> None:
    network, images, labels = make_task(classes)
    found = embed_task(network, images, labels, chunk=4)
    expected = fisher_by_jacobians(network, images, labels)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-14)


def test_the_head_is_the_optimum_on_features_of_very_different_scales() -> None:
    """L-BFGS alone stops far from it: the gradient of the objective is zero at the head found, in every scale."""
    rng = np.random.default_rng(3)
    features, labels = rng.normal(size=(60, 8)) * np.geomspace(1e-2, 1e4, 8), np.arange(60) % 3
    head = fit_head(features, labels)
    wrong = head.probabilities(features) - np.eye(3)[labels]
    slopes = (wrong.T @ features + head.weight) / np.abs(features).sum(axis=0)
    assert np.abs(slopes).max() < 1e-7
    assert np.abs(wrong.mean(axis=0)).max() < 1e-7


def test_the_network_is_left_as_it_was() -> None:
    network, images, labels = make_task(3)
    network.train()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    embed_task(network, images, labels)
    assert network.training
    assert network.relu.inplace
    assert all(p.requires_grad for p in network.parameters())
    assert not network.first._forward_hooks
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_what_cannot_be_embedded_is_refused() -> None:
    network, images, labels = make_task(3)
    with pytest.raises(NotEmbeddable, match="two classes"):
        embed_task(network, images, np.zeros(9, dtype=int))
    with pytest.raises(NotEmbeddable, match="9 images and 8 labels"):
        embed_task(network, images, labels[:8])
    with pytest.raises(UnsupportedModule, match="Conv1d"):
        embed_task(nn.Sequential(nn.Flatten(1, 2), nn.Conv1d(36, 2, 3), nn.Flatten()), images.float(), labels)
    shared = nn.Linear(4, 4)
    with pytest.raises(UnsupportedModule, match="twice"):
        embed_task(nn.Sequential(shared, nn.ReLU(), shared), torch.rand(9, 4), labels)


def test_a_head_is_fitted_by_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def threads() -> set[int]:
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    class Watched(LogisticRegression):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Watched:
            seen.update(threads())
            return super().fit(X, y, sample_weight)

    seen: set[int] = set()
    monkeypatch.setattr(task2vec, "LogisticRegression", Watched)
    with threadpool_limits(limits=2, user_api="blas"):
        before = threads()
        fit_head(np.random.default_rng(0).normal(size=(20, 4)), np.arange(20) % 2)
        assert seen == {1} and threads() == before
