"""A site says which pretrained weights its runs may read, with digest and licence."""

import hashlib
from pathlib import Path

from anyshot_core.weights import add_weights
from tests.platform.site import Site


def test_a_site_lists_the_weights_that_it_offers(site: Site, tmp_path: Path) -> None:
    """JSON and the phase's page; a file that nobody added with a licence is there too, and says that it has none."""
    assert site.client.get("/api/v1/weights").json() == []
    folder = tmp_path / "weights"
    (tmp_path / "resnet18.pt").write_bytes(b"a state dict")
    add_weights(folder, tmp_path / "resnet18.pt", "BSD-3-Clause", "torchvision")
    (folder / "older.pth").write_bytes(b"older")
    settings = site.services.settings.model_copy(update={"weights_folder": folder})
    object.__setattr__(site.services, "settings", settings)
    older, row = site.client.get("/api/v1/weights").json()
    assert row == {
        "name": "resnet18.pt",
        "digest": hashlib.sha256(b"a state dict").hexdigest(),
        "size": 12,
        "licence": "BSD-3-Clause",
        "source": "torchvision",
    }
    assert (older["name"], older["licence"]) == ("older.pth", "")
    page = " ".join(site.client.get("/competitions/small/phases/feedback").text.split())
    assert "older.pth (licence not recorded), resnet18.pt (BSD-3-Clause)" in page
