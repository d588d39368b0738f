"""What a custodian decides about parties: who is let in, with which limit, under which name."""

from __future__ import annotations

from math import inf
from typing import Any

from fastapi import APIRouter, Depends

from tacit.service.failures import as_plain
from tacit.service.orders import Approval, PartyLimit, PartyName, Renaming
from tacit.service.pages import add_action
from tacit.service.routes.callers import TheCaller, TheService, require_custodian
from tacit.words.remarks import remarks_for_machines

router = APIRouter(tags=["study"], dependencies=[Depends(require_custodian)])


@add_action(router, "/study/parties", "/study")
def set_party(order: PartyLimit, service: TheService, caller: TheCaller) -> dict[str, Any]:
    """Let a party in, or change its limit."""
    with service.changing(caller) as study:
        cap = inf if order.cap == "none" else order.cap
        remarks = study.set_party(order.name, order.limit, cap=cap)
        party = study.spelling(order.name)
    told = as_plain(remarks_for_machines(remarks))
    return {"party": party, "limit": order.limit, "remarks": told}


@add_action(router, "/study/parties/approval", "/study/policy")
def set_approval(order: Approval, service: TheService, caller: TheCaller) -> dict[str, Any]:
    """Let what a party asks for wait for approval, or not."""
    with service.changing(caller) as study:
        remarks = study.set_approval(order.name, is_required=order.is_required)
        party = study.spelling(order.name)
    told = as_plain(remarks_for_machines(remarks))
    return {"party": party, "needs_approval": order.is_required, "remarks": told}


@add_action(router, "/study/parties/rename", "/study/policy")
def rename_party(order: Renaming, service: TheService, caller: TheCaller) -> dict[str, Any]:
    """Call a party by another name; its earlier names still find it."""
    with service.changing(caller) as study:
        remarks = study.rename_party(order.name, order.new_name)
        party = study.spelling(order.new_name)
    told = as_plain(remarks_for_machines(remarks))
    return {"party": party, "name": order.new_name, "remarks": told}


@add_action(router, "/study/parties/remove", "/study/policy")
def remove_party(order: PartyName, service: TheService, caller: TheCaller) -> dict[str, Any]:
    """Remove a party that holds nothing."""
    with service.changing(caller) as study:
        party = study.spelling(order.name)
        study.remove_party(order.name)
    return {"party": party}
