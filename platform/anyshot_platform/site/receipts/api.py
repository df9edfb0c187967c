"""The public key that receipts are verified with, over JSON."""

from fastapi import APIRouter, Depends

from anyshot_core.receipts import PublicKey
from anyshot_platform.judging.receipts.service import find_public_key
from anyshot_platform.site.web.access import public
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/api/v1", tags=["receipts"])


@router.get("/receipt-key", dependencies=[Depends(public)])
def show_key(session: SessionDep) -> PublicKey:
    """The site's public key, 32 bytes in hex: it verifies the receipts that the site signed."""
    return find_public_key(session)
