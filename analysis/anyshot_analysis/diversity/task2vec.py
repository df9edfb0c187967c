"""Task2Vec embeddings (Achille et al. 2019) with the exact diagonal Fisher information.

F = E_x E_{y ~ p(y|x)} (d log p(y|x) / dw)^2, the expectation over y computed and not sampled. With z the logits,
d log p(y|x)/dz = e_y - p, and sum_y p_y (J'(e_y - p))^2 is the diagonal of J' (diag p - pp') J: a factor of that
matrix, of rank classes - 1, needs one backward pass less than there are classes.
"""

import warnings
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from anyshot_analysis.diversity.fisher import add_squares, tapped

CHUNK = 20
HEAD_STRENGTH = 1.0  # of the L2 penalty, scikit-learn's C
LBFGS_STEPS = 1000


class NotEmbeddable(ValueError):
    """A task that cannot be embedded: images and labels that do not fit, or a single class."""


@dataclass(frozen=True)
class LinearClassifier:
    """A linear classifier on frozen features: `weight` `[classes, features]`, `bias` `[classes]`."""

    weight: NDArray[np.float64]
    bias: NDArray[np.float64]

    def probabilities(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Softmax of the logits, `[B, classes]`."""
        logits = features @ self.weight.T + self.bias
        logits -= logits.max(axis=1, keepdims=True)
        scores = np.exp(logits)
        return scores / scores.sum(axis=1, keepdims=True)


@threadpool_limits.wrap(limits=1, user_api="blas")
def fit_head(
    features: NDArray[np.float64], labels: ArrayLike, strength: float = HEAD_STRENGTH
) -> LinearClassifier:
    """L2 logistic regression on frozen features; BadTask if only one class is there.

    Features of very different scales leave L-BFGS short of the optimum: Newton's method then finishes. A task is
    so small that several threads of the linear algebra only wait for each other.
    """
    y = np.asarray(labels)
    if len(set(y.tolist())) < 2:
        raise NotEmbeddable("a task needs two classes")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = LogisticRegression(C=strength, max_iter=LBFGS_STEPS, tol=1e-8).fit(features, y)
    if np.max(fitted.n_iter_) >= LBFGS_STEPS:
        fitted = LogisticRegression(C=strength, solver="newton-cholesky", tol=1e-8).fit(features, y)
    weight, bias = np.asarray(fitted.coef_), np.asarray(fitted.intercept_)
    if (
        len(weight) == 1
    ):  # scikit-learn folds two classes into one row; the softmax of (-z/2, z/2) is its sigmoid
        weight, bias = np.vstack([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
    return LinearClassifier(weight, bias)


def output_directions(head: LinearClassifier, features: NDArray[np.float64]) -> NDArray[np.float64]:
    """`[classes - 1, B, F]`: directions v_k at the features with sum_k (J'v_k)^2 = E_y of the squared gradient.

    diag p - pp' = S (I - qq') S with S = diag(sqrt p), q = sqrt p: any orthonormal basis of the complement of q gives a
    factor. The Householder reflection that sends q to the first axis holds one in its other columns.
    """
    p = head.probabilities(features)
    q = np.sqrt(p)
    reflector = q.copy()
    reflector[:, 0] += 1.0
    reflector /= np.linalg.norm(reflector, axis=1, keepdims=True)
    complement = np.eye(p.shape[1])[None] - 2 * reflector[:, :, None] * reflector[:, None, :]
    factor = q[:, :, None] * complement[:, :, 1:]
    return np.einsum("bck,cf->kbf", factor, head.weight)


def frozen_features(network: nn.Module, images: Tensor, chunk: int = 100) -> NDArray[np.float64]:
    """`[n, F]` in float64: the network's output in eval mode, without gradients."""
    training = network.training
    network.eval()
    try:
        with torch.no_grad():
            return np.concatenate([network(part).double().cpu().numpy() for part in images.split(chunk)])
    finally:
        network.train(training)


def embed_task(
    network: nn.Module, images: Tensor, labels: ArrayLike, chunk: int = CHUNK, strength: float = HEAD_STRENGTH
) -> NDArray[np.float64]:
    """The embedding `[filters]` of one task: mean Fisher information of each output filter of `network`.

    `network` maps `images` `[n, ...]` to features `[n, F]` and has no head (the head is fitted here and left
    out). Memory
    is that of one chunk. Raises BadTask, or UnsupportedModule for a layer without an exact rule.
    """
    y = np.asarray(labels)
    if len(images) != len(y) or len(y) == 0:
        raise NotEmbeddable(f"{len(images)} images and {len(y)} labels")
    features = frozen_features(network, images)
    if features.ndim != 2 or not np.isfinite(features).all():
        raise NotEmbeddable(f"the network must give finite features [n, F], found {features.shape}")
    head = fit_head(features, y, strength)
    with tapped(network) as taps:
        for start in range(0, len(images), chunk):
            rows = slice(start, start + chunk)
            directions = torch.from_numpy(output_directions(head, features[rows]))
            add_squares(network(images[rows]), taps, directions)
        idle = [name for name, tap in taps.items() if tap.total is None]
        if idle:
            raise NotEmbeddable(f"layers that take no part in the features: {', '.join(idle)}")
        filters = [tap.total for tap in taps.values() if tap.total is not None]
    return torch.cat(filters).cpu().numpy() / len(images)
