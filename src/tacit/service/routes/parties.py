"""What a custodian decides about parties: who may learn how much, and who has to wait."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Depends

from tacit.limits import Bound
from tacit.service.failures import as_plain
from tacit.service.orders import Approval, LimitOn
from tacit.service.pages import add_action
from tacit.service.routes.callers import TheCaller, TheService, require_custodian
from tacit.words.remarks import remarks_for_machines

router = APIRouter(tags=["study"], dependencies=[Depends(require_custodian)])


@add_action(router, "/study/limits", "/study/limits")
def set_limit(order: LimitOn, service: TheService, caller: TheCaller) -> dict[str, Any]:
    """Say what some parties may learn; a party is let in by it, or leaves."""
    with service.changing(caller) as study:
        remarks = study.set_limit(**order.arguments())
        bound = study.bound_on(order.whom)
        means = [] if bound == Bound() else study.explain_limit(bound.bits, bound.times)
    told = as_plain(remarks_for_machines(remarks))
    return {"whom": order.whom, "means": [asdict(each) for each in means], "remarks": told}


@add_action(router, "/study/parties/approval", "/study/limits")
def set_approval(order: Approval, service: TheService, caller: TheCaller) -> dict[str, Any]:
    """Let what a party asks for wait for approval, or not."""
    with service.changing(caller) as study:
        remarks = study.set_approval(order.name, is_required=order.is_required)
    told = as_plain(remarks_for_machines(remarks))
    return {"party": order.name, "needs_approval": order.is_required, "remarks": told}
