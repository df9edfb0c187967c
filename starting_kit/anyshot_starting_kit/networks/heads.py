"""Heads: from support features and query features to scores of the query."""

from math import gcd

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize, one_hot


def prototypes(features: Tensor, labels: Tensor, ways: int) -> Tensor:
    """Class means `[ways, d]` of support features `[n, d]` with labels in [0, ways) (Snell et al. 2017, eq. 1)."""
    sums = torch.zeros(ways, features.shape[1], dtype=features.dtype, device=features.device)
    sums = sums.index_add(0, labels, features)
    return sums / torch.bincount(labels, minlength=ways).clamp(min=1).to(features)[:, None]


def negative_squared_distances(queries: Tensor, centres: Tensor) -> Tensor:
    """Logits `[q, ways]` of queries `[q, d]` to centres `[ways, d]` (Snell et al. 2017, eq. 2)."""
    return -torch.cdist(queries, centres).square()


def cosines(queries: Tensor, centres: Tensor) -> Tensor:
    """Cosine similarities `[q, ways]` (Chen et al. 2019, section 3.2, without their scale)."""
    return normalize(queries, dim=1) @ normalize(centres, dim=1).T


def matching_attention(
    support: Tensor, labels: Tensor, queries: Tensor, ways: int, scale: float | Tensor = 1.0
) -> Tensor:
    """Log probabilities `[q, ways]`: attention over the support by scaled cosines (Vinyals et al. 2016, eq. 1)."""
    attention = (scale * cosines(queries, support)).log_softmax(dim=1)
    others = one_hot(labels, ways).T == 0
    return attention[:, None, :].masked_fill(others, -torch.inf).logsumexp(dim=2)


def ridge_scores(
    support: Tensor, labels: Tensor, queries: Tensor, ways: int, strength: float | Tensor
) -> Tensor:
    """Ridge regression to one-hot targets, `[q, ways]`, in closed form by the n x n system (Bertinetto et al. 2019,
    eq. 6)."""
    targets = one_hot(labels, ways).to(support)
    gram = support @ support.T + strength * torch.eye(
        len(support), dtype=support.dtype, device=support.device
    )
    return queries @ (support.T @ torch.linalg.solve(gram, targets))


def svm_scores(
    support: Tensor,
    labels: Tensor,
    queries: Tensor,
    ways: int,
    slack: float = 0.1,
    *,
    tolerance: float = 1e-3,
    unrolled: int = 50,
) -> Tensor:
    """Scores `[q, ways]` of the multi-class SVM of Crammer and Singer (Lee et al. 2019, eq. 9 and 10).

    Its dual, `min 1/2 sum_k a_k' K a_k - sum_n a_n,y(n)` with `a_n,k <= slack [k = y(n)]` and `sum_k a_n,k = 0`, is
    solved to within that share of its value. Gradients flow through `unrolled` more steps from the solution, which is
    what the implicit gradient of eq. 7 is approached by.
    """
    precise = support.double()  # duals of large features are far smaller than their bounds
    targets = one_hot(labels, ways).to(precise)
    gram = precise @ precise.T
    with torch.no_grad():
        duals = _solve_dual(gram, targets, slack, tolerance)
    rate = 1.0 / torch.linalg.matrix_norm(gram.detach(), 2).clamp(min=1e-12)
    if torch.is_grad_enabled():
        for _ in range(unrolled):
            duals = _feasible(duals - rate * (gram @ duals - targets), slack * targets)
    return queries @ (precise.T @ duals).to(queries)


def _solve_dual(gram: Tensor, targets: Tensor, slack: float, tolerance: float, most: int = 3000) -> Tensor:
    """Accelerated projected gradient steps that start anew where they overshoot (O'Donoghue and Candes 2015).

    They end when the gap to the primal value, which bounds how far the dual is from its best, is small.
    """
    rate = 1.0 / torch.linalg.matrix_norm(gram, 2).clamp(min=1e-12)
    duals = ahead = torch.zeros_like(targets)
    momentum = 0
    for step in range(1, most + 1):
        moved = _feasible(ahead - rate * (gram @ ahead - targets), slack * targets)
        if ((ahead - moved) * (moved - duals)).sum() > 0:
            momentum, ahead = 0, duals
            continue
        ahead = moved + momentum / (momentum + 3.0) * (moved - duals)
        duals, momentum = moved, momentum + 1
        if step % 25 == 0 and _gap(gram, targets, duals, slack) <= tolerance:
            break
    return duals


def _gap(gram: Tensor, targets: Tensor, duals: Tensor, slack: float) -> Tensor:
    """Primal minus dual value of the SVM as a share of the primal's: 0 at the solution."""
    scores = gram @ duals
    own = (scores * targets).sum(dim=1)
    losses = ((scores + 1 - targets).amax(dim=1) - own).clamp(min=0)
    norm = (duals * scores).sum()
    primal, dual = norm / 2 + slack * losses.sum(), (duals * targets).sum() - norm / 2
    return (primal - dual) / primal.clamp(min=1e-12)


def _feasible(duals: Tensor, bounds: Tensor) -> Tensor:
    """The nearest point with rows below `bounds` that sum to 0: `bounds` minus a point of a scaled simplex."""
    gaps = bounds - duals
    total = bounds.sum(dim=1, keepdim=True)
    ordered = gaps.sort(dim=1, descending=True).values
    places = torch.arange(1, gaps.shape[1] + 1, dtype=gaps.dtype, device=gaps.device)
    cut = (ordered.cumsum(dim=1) - total) / places
    last = (ordered > cut).sum(dim=1, keepdim=True).clamp(min=1) - 1
    return bounds - (gaps - cut.gather(1, last)).clamp(min=0)


def fit_logistic(
    support: Tensor, labels: Tensor, ways: int, strength: float, steps: int = 60
) -> tuple[Tensor, Tensor]:
    """Weights `[d, ways]` and bias `[ways]` of multinomial logistic regression by L-BFGS.

    Minimises the mean cross-entropy plus `strength / 2` times the squared weights.
    """
    with torch.enable_grad():
        data = support.detach()
        weights = torch.zeros(data.shape[1], ways, dtype=data.dtype, device=data.device, requires_grad=True)
        bias = torch.zeros(ways, dtype=data.dtype, device=data.device, requires_grad=True)
        optimizer = torch.optim.LBFGS([weights, bias], max_iter=steps, line_search_fn="strong_wolfe")

        def loss() -> Tensor:
            optimizer.zero_grad()
            value = cross_entropy(data @ weights + bias, labels) + strength / 2 * weights.square().sum()
            value.backward()
            return value

        optimizer.step(loss)  # pyright: ignore[reportArgumentType] - a tensor is what it wants
    return weights.detach(), bias.detach()


def power_transform(features: Tensor, power: float = 0.5) -> Tensor:
    """Features of non-negative networks made more Gaussian, unit length (Hu et al. 2021, eq. 2); signs are kept."""
    return normalize(features.sign() * (features.abs() + 1e-6) ** power, dim=1)


def propagate_labels(
    support: Tensor,
    labels: Tensor,
    queries: Tensor,
    ways: int,
    *,
    sharpness: float = 10.0,
    rounds: int = 20,
    pace: float = 0.2,
    exact: bool = False,
) -> Tensor:
    """Probabilities `[q, ways]` by optimal transport from a balanced query to class centres (Hu et al. 2021).

    Features should have unit length. Centres start as prototypes; each round assigns the query by Sinkhorn's algorithm
    with uniform marginals and moves the centres by `pace` towards the mean of support and assigned query. With `exact`
    the transport is solved exactly, by cosine distances, as the kit of 2022 has it.
    """

    def assigned() -> Tensor:
        if exact:
            return exact_assignment(1 - cosines(queries, centres))
        return balanced_assignment(-torch.cdist(queries, centres).square(), sharpness)

    known = one_hot(labels, ways).to(support)
    centres = prototypes(support, labels, ways)
    plan = assigned()
    for _ in range(rounds):
        mass = known.sum(dim=0) + plan.sum(dim=0)
        means = (known.T @ support + plan.T @ queries) / mass[:, None]
        centres = centres + pace * (means - centres)
        plan = assigned()
    return plan


def balanced_assignment(scores: Tensor, sharpness: float = 10.0, sweeps: int = 50) -> Tensor:
    """Rows that sum to 1, columns that sum to q / ways each: Sinkhorn's algorithm on `[q, ways]` scores."""
    logs = sharpness * scores
    share = torch.log(torch.tensor(len(scores) / scores.shape[1], dtype=scores.dtype, device=scores.device))
    for _ in range(sweeps):
        logs = logs - logs.logsumexp(dim=0, keepdim=True) + share
        logs = logs - logs.logsumexp(dim=1, keepdim=True)
    return logs.exp()


def exact_assignment(distances: Tensor) -> Tensor:
    """Rows that sum to 1, columns that sum to q / ways each, of the least total distance: `[q, ways]`.

    Where the ways do not divide the query, rows are split into as many equal parts as it takes.
    """
    count, ways = distances.shape
    common = gcd(count, ways)
    parts, places = ways // common, count // common
    costs = distances.detach().cpu().double().numpy().repeat(parts, axis=0).repeat(places, axis=1)
    rows, columns = linear_sum_assignment(costs)
    plan = torch.zeros(count, ways, dtype=torch.float64)
    plan.index_put_(
        (torch.from_numpy(rows // parts), torch.from_numpy(columns // places)),
        torch.full((len(rows),), 1 / parts, dtype=torch.float64),
        accumulate=True,
    )
    return plan.to(distances)
