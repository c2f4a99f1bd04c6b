"""A setting that an index may not have here, in the node's words where it does not know it either.

The node offers the settings that are nearest by name, of all that its version and its plugins have. So it is asked to make an
index with the client's settings by a name that none can have: it judges settings first, and then the name. Nothing is made
whatever it makes of the settings; a setting that it knows, and a tenant may not set, is answered as one that is unknown.
"""

from __future__ import annotations

import orjson

from esproxy.answer import client_headers, is_error, restore_error
from esproxy.api.target import build
from esproxy.errors import Refusal
from esproxy.exchange import Call, Procedure, Reply, Send
from esproxy.heads import AnswerHead
from esproxy.metadata.settings import UnknownSetting
from esproxy.plan import Plan
from esproxy.request import media_of, physical_headers

ASKING = frozenset(("indices.create", "indices.put_settings", "indices.clone", "indices.shrink", "indices.split"))
PRIVATE = frozenset(("index.uuid", "index.history.uuid"))  # of OpenSearch, which words them last
NO_NAME = "NONE"  # which would have to be lowercase


def in_nodes_words(plan: Plan, error: UnknownSetting, limit: int) -> Procedure:
    """Ends with the node's refusal, or raises Refusal."""
    path = build([plan.owner().names.prefix + NO_NAME], {})
    body = orjson.dumps({"settings": error.settings})
    asked = Send(plan.cluster.name, "PUT", path, physical_headers(plan, media_of(plan)), body, True, True)
    answer = yield Call(asked, limit)
    if is_error(answer.status, answer.body) and answer.status == 400:
        kind = orjson.loads(answer.body)["error"].get("type")
        if kind != "invalid_index_name_exception":
            headers = client_headers(plan, AnswerHead(answer.status, answer.headers))
            return Reply(answer.status, headers, restore_error(plan, answer.body))
    if plan.product:
        raise Refusal(error.reason)
    if error.name not in PRIVATE:
        raise Refusal(error.reason, type="settings_exception")
    if plan.route.row.name == "indices.create":
        words = f"Validation Failed: 1: private index setting [{error.name}] can not be set explicitly;"
        raise Refusal(words, type="validation_exception")
    words = f"can not update private setting [{error.name}]; this setting is managed by OpenSearch"
    raise Refusal(words, type="settings_exception")
