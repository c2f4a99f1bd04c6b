"""Calls about indices in pools that are not waited for (``wait_for_completion=false``): what they come to is a task's.

What a node does for them is not the client's call: an index in a pool is opened in the catalogue, and copied by searches and
bulks. So no node's task stands for it. The call is made whole, and its outcome is put into the id of a task that has ended
(``Ended``): sealed, so that nobody else reads it, and told to whoever asks for the task. Nothing has to be kept anywhere, any
worker can answer, and it is all true by the time a client has the id.

Which errors are told at once and which by the task is as on nodes: at once what is wrong with the request itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from esproxy.api.filter_path import FilterPath
from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.exchange import Large, Reply
from esproxy.metadata.tasks import OPAQUE
from esproxy.plan import Plan
from esproxy.pools.declared import answer, known_parameters
from esproxy.pools.pooled import Apart, Pooled

Family = Callable[[Pooled], Steps[Reply | Large]]
WAIT = "wait_for_completion"
AT_ONCE = ("action_request_validation_exception", "parsing_exception", "parse_exception", "x_content_parse_exception")
KIND = "ended task"


@dataclass(frozen=True, slots=True)
class Ended:
    """A task that has ended. ``outcome``: its ``response``, or its ``error``."""

    action: str
    description: str
    start: int  # in milliseconds
    took: int  # in nanoseconds
    outcome: dict[str, Any]
    opaque: str | None

    def seal(self, plan: Plan) -> str:
        """Its id."""
        held = [self.action, self.description, self.start, self.took, self.outcome, self.opaque]
        text = orjson.dumps(held).decode()
        number = self.start % 2**31
        return f"{plan.sealer.seal(text, tenant=plan.owner().id, kind=KIND, cluster=plan.cluster.name)}:{number}"

    @classmethod
    def open(cls, plan: Plan, id: str) -> Ended | None:
        """The task of an id; None where it is none of these."""
        token, _, number = id.rpartition(":")
        text = plan.sealer.open(token, tenant=plan.owner().id, kind=KIND, cluster=plan.cluster.name)
        found = None if text is None else cls(*orjson.loads(text))
        return found if found is not None and number == str(found.start % 2**31) else None

    def told(self, id: str, product: bool) -> dict[str, Any]:
        node, _, number = id.rpartition(":")
        task = {
            "node": node,
            "id": int(number),
            "type": "transport",
            "action": f"indices:admin/{self.action}",
            "description": self.description,
            "start_time_in_millis": self.start,
            "running_time_in_nanos": self.took,
            "cancellable": False,
            **({} if product else {"cancelled": False}),
            "headers": {} if self.opaque is None else {OPAQUE: self.opaque},
        }
        return {"completed": True, "task": task, **self.outcome}


def may_be_left(family: Family, action: str, described: Callable[[Pooled], str]) -> Family:
    """The family, whose call need not be waited for."""

    def run(request: Pooled) -> Steps[Reply | Large]:
        plan = request.plan
        if plan.query.get(WAIT) != "false":
            return (yield from family(request))
        given = plan.query
        plan.query = {name: value for name, value in given.items() if name not in (WAIT, "filter_path")}
        known_parameters(request)
        start, began = int(request.cat.epoch_seconds() * 1000), request.cat.clock()
        try:
            outcome = yield from _outcome(request, family)
        except Apart:
            plan.query = given
            raise
        finally:
            took = int((request.cat.clock() - began) * 1e9)
        if isinstance(outcome, Reply):
            return outcome
        opaque = plan.head.get(b"x-opaque-id")
        task = Ended(action, described(request), start, took, outcome, None if opaque is None else opaque.decode("latin-1"))
        if "filter_path" in given:
            plan.filter_path = FilterPath(given["filter_path"])
        return answer(request, {"task": task.seal(plan)})

    return run


def _outcome(request: Pooled, family: Family) -> Steps[dict[str, Any] | Reply]:
    """Of the task, or the answer where there is none."""
    try:
        reply = yield from family(request)
    except Refusal as error:
        if error.type in AT_ONCE:
            raise
        return {"error": error.cause()}
    assert isinstance(reply, Reply)
    tree = orjson.loads(reply.body)
    if reply.status >= 400:
        error = {key: value for key, value in tree["error"].items() if key != "root_cause"}
        return reply if error["type"] in AT_ONCE else {"error": error}
    return {"response": tree}


def get(request: Pooled) -> Steps[Reply | Large]:
    """``tasks.get``: of a call that was not waited for. All other tasks are those of what the tenant has outside of pools."""
    yield from ()
    id = request.parts["task_id"]
    ended = Ended.open(request.plan, id)
    if ended is None:
        raise Apart
    known_parameters(request)
    return answer(request, ended.told(id, request.product))


# --- what nodes say of the calls ----------------------------------------------------------------------------


def opening(request: Pooled) -> str:
    return f"open indices {_listed(request)}"


def merging(request: Pooled) -> str:
    query = request.plan.query
    flags = [f"maxSegments[{query.get('max_num_segments', '-1')}]"]
    flags += [f"{told}[{_flag(query.get(name), default)}]" for told, name, default in MERGED]
    if not request.product:
        flags.append(f"primaryOnly[{_flag(query.get('primary_only'), 'false')}]")
    return f"Force-merge indices {_listed(request)}, {', '.join(flags)}"


def resizing(request: Pooled) -> str:
    kind = request.plan.route.row.name.rpartition(".")[2]
    return f"{kind} from [{request.parts['index']}] to [{request.parts['target']}]"


MERGED = (("onlyExpungeDeletes", "only_expunge_deletes", "false"), ("flush", "flush", "true"))


def _flag(value: str | None, default: str) -> str:
    return default if value is None else value or "true"


def _listed(request: Pooled) -> str:
    return f"[{', '.join(request.parts.get('index', '').split(','))}]"
