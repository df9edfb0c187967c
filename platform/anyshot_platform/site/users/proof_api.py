"""Programs say password or code again, where a dangerous act is answered with `prove`."""

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from anyshot_platform.people.accounts.proving import prove
from anyshot_platform.people.users.viewer import Scope, Viewer
from anyshot_platform.site.web.access import signed_in_as
from anyshot_platform.site.web.services import ServicesDep

router = APIRouter(prefix="/api/v1/me", tags=["accounts"])


class ProofIn(BaseModel):
    """The password, or a code where the account has a second factor."""

    model_config = ConfigDict(extra="forbid")

    proof: str = Field(min_length=1, max_length=200)


class ProofOut(BaseModel):
    """How long it is not asked for again."""

    minutes: float


@router.post("/proof")
def send_proof(
    body: ProofIn, viewer: Annotated[Viewer, Depends(signed_in_as(Scope.ORGANIZE))], services: ServicesDep
) -> ProofOut:
    """Prove again who one is; dangerous acts answer 403 `prove` until then."""
    prove(services, viewer, body.proof)
    return ProofOut(minutes=services.settings.prove_minutes)
