"""Search templates: rendered by a node, then read and rewritten like any other search.

What a template is made into is only known once it has been rendered, of what is stored and the client's parameters; so a node is
asked for that alone (``_render/template``), and what it made is a search body of the client's, refused or rewritten as one.
A template itself never goes to where a node would search with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from esproxy import exact
from esproxy.answer import Whole, client_headers, client_status, encode, is_error, restore_error
from esproxy.api.filter_path import FilterPath
from esproxy.bodies import JsonBody, MsearchBody, sent
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed, Refusal
from esproxy.exchange import Answer, Call, Calls, Procedure, Reply, Send
from esproxy.heads import AnswerHead
from esproxy.plan import Plan
from esproxy.replies import json_headers
from esproxy.request import as_another, physical_headers, physical_target

FRONT = b'{"template_output":'
FLAGS = ("explain", "profile")  # of a template, which go before the search body's


def searched_template(plan: Plan, body: bytes, media: bytes, limit: int, depth: int) -> Procedure:
    """``body``: the client's, with its names rewritten. Ends with the client's answer."""
    if not body:
        raise Refusal("request body or source parameter is required", type="parse_exception")
    if plan.endpoint.framing == "templates":
        return (yield from _several(plan, body, media, limit, depth))
    template = exact.loads(body)
    physical_target(plan)  # for its strictness: parameters that are none
    told = yield render(plan, template, limit)
    if told.status != 200:
        return node_error(plan, told)
    search = as_another(plan, target_of(plan, b"/_search"), media)
    made, _ = sent(search, made_of(told, template), depth)
    answer = yield _call(search, made, media, limit)
    reply = _reply(search, answer, limit)
    return reply if search.product or reply.status != 200 else with_status(search, reply)


def with_status(search: Plan, reply: Reply) -> Reply:
    """OpenSearch tells the status of a template's search in its answer, too."""
    told: dict[str, Any] = {"status": reply.status}
    path = search.query.get("filter_path")
    told = told if path is None else FilterPath(path).apply(told)
    return Reply(reply.status, reply.headers, encode(search, exact.loads(reply.body) | told)) if told else reply


def target_of(plan: Plan, verb: bytes) -> bytes:
    """The client's target with a search in the template's place."""
    path, mark, query = plan.head.target.partition(b"?")
    before = path.rstrip(b"/").removesuffix(verb + b"/template")
    return before + verb + mark + query


def render(plan: Plan, template: dict[str, Any], limit: int) -> Call:
    """What asks a node to make a search of a template."""
    wanted = {key: template[key] for key in ("id", "source", "params") if key in template}
    if isinstance(template.get("source"), str):
        plan.runs(template["source"], template["source"])
    headers = [(b"accept", b"application/json"), (b"content-type", b"application/json")]
    return Call(Send(plan.cluster.name, "POST", b"/_render/template", headers, exact.dumps(wanted), True, True), limit)


def made_of(told: Answer, template: dict[str, Any]) -> bytes:
    """The search that a template has become, as the node wrote it into its answer: it may be anything. Raises Refusal."""
    raw = told.body.strip()
    if not (raw.startswith(FRONT) and raw.endswith(b"}")):
        raise Failed("the node did not tell what a template was made into", status=502)
    made = raw[len(FRONT) : -1].strip()
    if not made:
        raise Refusal("Expected [START_OBJECT] but found [null]", type="parsing_exception", line=1, col=0)
    if not any(flag in template for flag in FLAGS):
        return made
    try:
        tree = exact.loads(made)
    except ValueError as error:
        raise Refusal(f"the template was made into no JSON: {error}", type="x_content_parse_exception") from None
    if isinstance(tree, dict):
        tree = {key: value for key, value in tree.items() if key not in FLAGS} | _flags(template)
    return exact.dumps(tree)


def _flags(template: dict[str, Any]) -> dict[str, Any]:
    return {flag: template[flag] for flag in FLAGS if flag in template}


def _call(search: Plan, body: bytes, media: bytes, limit: int) -> Call:
    target = physical_target(search)
    if search.typed:
        target += (b"&" if b"?" in target else b"?") + b"typed_keys=true"
    return Call(Send(search.cluster.name, "POST", target, physical_headers(search, media), body, True, True), limit)


def _reply(search: Plan, answer: Answer, limit: int) -> Reply:
    head = AnswerHead(answer.status, answer.headers)
    body = Whole(search, head, limit).feed(answer.body, True)
    return Reply(client_status(search, answer.status), client_headers(search, head), body)


def node_error(plan: Plan, answer: Answer) -> Reply:
    """A node's refusal, as the client's."""
    if not is_error(answer.status, answer.body):
        raise Failed("the node's answer could not be understood", status=502)
    return Reply(answer.status, client_headers(plan, AnswerHead(answer.status, answer.headers)), restore_error(plan, answer.body))


# --- several ----------------------------------------------------------------------------------------------


def _several(plan: Plan, body: bytes, media: bytes, limit: int, depth: int) -> Procedure:
    """Each search has an answer of its own; what could not be rendered or read has an error in its place."""
    headers_of, templates = split(plan, body, depth)
    physical_target(plan)
    search = as_another(plan, target_of(plan, b"/_msearch"), media)
    reader = MsearchBody(search, depth)
    out: list[bytes] = []

    def put(header: bytes, made: bytes) -> None:
        try:
            out.append(reader.feed(header + b"\n" + made + b"\n", False))
        except Refusal:
            reader.is_body = False
            raise

    errors = yield from rendered(plan, headers_of, templates, limit, put)
    filter_path, tree = None, {"took": 0, "responses": []}
    headers = json_headers(plan.product, plan.head.get(b"accept"))
    if out:
        sent_body = reader.end(b"".join(out))
        call = _call(search, sent_body, media, limit)
        filter_path, search.filter_path = search.filter_path, None
        reply = _reply(search, (yield call), limit)
        if reply.status != 200:
            return reply
        tree, headers = exact.loads(reply.body), reply.headers
    in_their_places(tree, errors)
    return Reply(200, headers, encode(search, tree if filter_path is None else filter_path.apply(tree)))


def rendered(
    plan: Plan, headers: list[bytes], templates: list[dict[str, Any]], limit: int, put: Callable[[bytes, bytes], None]
) -> Steps[list[dict[str, Any] | None]]:
    """An error for each search that could not be rendered or was refused where it was ``put``, header and body; None for the
    others, which the node answers."""
    told: list[Answer] = yield Calls([render(plan, template, limit) for template in templates])
    errors: list[dict[str, Any] | None] = []
    for header, template, answer in zip(headers, templates, told, strict=True):
        try:
            if answer.status != 200:
                error = orjson.loads(node_error(plan, answer).body)
                errors.append({"error": error["error"], "status": answer.status})
                continue
            put(header, one_line(made_of(answer, template)))
            errors.append(None)
        except Refusal as refused:
            errors.append({"error": refused.payload()["error"], "status": refused.status})
    if None not in errors and not plan.product:
        raise Refusal("Validation Failed: 1: no requests added;", type="action_request_validation_exception")
    return errors


def in_their_places(tree: dict[str, Any], errors: list[dict[str, Any] | None]) -> None:
    """The node's answers and these errors in the order of the searches."""
    answers = iter(tree["responses"])
    tree["responses"] = [next(answers) if error is None else error for error in errors]


def split(plan: Plan, body: bytes, depth: int) -> tuple[list[bytes], list[dict[str, Any]]]:
    """The headers, and the templates with their names rewritten. Raises Refusal."""
    if not body.endswith(b"\n"):
        raise Refusal("The msearch request must be terminated by a newline [\n]")
    lines = body[:-1].split(b"\n")
    if len(lines) % 2:
        lines.pop()  # a header without a template is left out, as nodes do
    state = plan.cluster.engine.tables.endpoints["search_template"].request
    assert state is not None
    templates = []
    for line in lines[1::2]:
        one = JsonBody(plan, state, depth)
        templates.append(exact.loads(one.end(one.feed(line, True))))
    return lines[::2], templates


def one_line(made: bytes) -> bytes:
    """JSON on one line; what is none stays as it is, for whoever reads it to say so."""
    if b"\n" not in made and b"\r" not in made:
        return made
    try:
        return exact.dumps(exact.loads(made))
    except ValueError:
        return made.replace(b"\n", b" ")
