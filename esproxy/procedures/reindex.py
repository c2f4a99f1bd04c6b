"""``_reindex``: a script in it is put into a source of ours, which keeps what it makes of a document among its tenant's indices
(``esproxy.languages.painless_guard``). A stored script is fetched for that. What a pipeline makes of a document, that pipeline
itself keeps (``esproxy.metadata.ingest``)."""

from __future__ import annotations

from typing import Any

from esproxy import exact
from esproxy.answer import Whole, client_headers, client_status
from esproxy.api.target import build
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed, Refusal
from esproxy.exchange import Answer, Call, Procedure, Reply, Send
from esproxy.heads import AnswerHead
from esproxy.languages import LanguageError, painless
from esproxy.languages.painless_guard import guarded
from esproxy.plan import Plan
from esproxy.request import physical_headers, physical_target

JSON = [(b"accept", b"application/json")]


def reindex(plan: Plan, body: bytes, media: bytes | None, limit: int) -> Procedure:
    """``body``: the client's, with its names rewritten. Ends with the client's answer."""
    target = physical_target(plan)
    tree = exact.loads(body) if body else None
    script = tree.get("script") if isinstance(tree, dict) else None
    if script is not None:
        tree["script"] = yield from _kept(plan, script)
        body = exact.dumps(tree)
    call = Call(Send(plan.cluster.name, "POST", target, physical_headers(plan, media), body), limit)
    answer: Answer = yield call
    head = AnswerHead(answer.status, answer.headers)
    told = Whole(plan, head, limit).feed(answer.body, True)
    return Reply(client_status(plan, answer.status), client_headers(plan, head), told)


def _kept(plan: Plan, script: Any) -> Steps[dict[str, Any]]:
    if not isinstance(script, dict):
        raise Refusal("[reindex] script is an object", type="x_content_parse_exception")
    if "id" in script:
        if script.keys() - {"id", "params"}:
            raise Refusal("a script that is stored has an [id] and [params]")
        lang, source = yield from _stored(plan, script["id"])
    else:
        lang, source = script.get("lang", "painless"), script.get("source")
    if lang != "painless":
        raise Refusal(f"script_lang not supported [{lang}]")
    if not isinstance(source, str):
        raise Refusal("must specify either [source] for an inline script or [id] for a stored script")
    try:
        written = guarded(source, plan.owner().names.prefix)
    except LanguageError as error:
        raise Refusal(f"the script cannot be understood: {error}", type="script_exception") from None
    plan.runs(written, plan.scripts.get(source, source))
    return {key: value for key, value in script.items() if key != "id"} | {"lang": lang, "source": written}


def _stored(plan: Plan, id: Any) -> Steps[tuple[str, str]]:
    """Language and source of a stored script, as its client wrote it."""
    if not isinstance(id, str):
        raise Refusal("the [id] of a stored script is a text")
    answer = yield Call(Send(plan.cluster.name, "GET", build(["_scripts", id], {}), JSON, held=True))
    if answer.status == 404:
        words = f"unable to find script [{plan.spelled.get(id, '')}] in cluster state"
        raise Refusal(words, status=404, type="resource_not_found_exception")
    if answer.status != 200:
        raise Failed("the node's answer could not be understood", status=502)
    script = exact.loads(answer.body)["script"]
    source = painless.restored(script["source"], plan.owner().names.prefix)
    plan.stored[source] = plan.stored[id]
    return script["lang"], source
