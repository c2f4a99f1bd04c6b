"""Documents without an id: one write on the node whatever breaks, through all of the proxy."""

import orjson
import pytest

from tests.stub import Peer, answer
from tests.unit.serve.streaming import LAYOUTS, world

JSON = ("content-type", "application/json")


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return request.param


class Node:
    """Keeps documents by id as nodes do; ``breaks`` connections after so many writes have been taken."""

    def __init__(self, w, breaks: int = 0, gone: bool = False):
        self.w = w
        self.breaks = breaks
        self.gone = gone
        self.documents: dict[bytes, bytes] = {}
        self.seen: list[tuple[str, bytes]] = []
        w.stub.default = self.answer

    async def answer(self, peer: Peer) -> None:
        body = await peer.body()
        path, _, query = peer.seen.target.partition(b"?")
        self.seen.append((peer.seen.method, query))
        id = path.rpartition(b"/")[2]
        told = {"_index": self.w.index, "_id": id.decode().replace("%3A", ":"), "_version": 1, "_seq_no": 7, "_primary_term": 1}
        if peer.seen.method == "GET":
            found = id in self.documents and not self.gone
            return peer.write(answer(200 if found else 404, orjson.dumps({**told, "found": found}), JSON))
        new = id not in self.documents
        self.documents.setdefault(id, body)
        if self.breaks:
            self.breaks -= 1
            return peer.close()
        if new:
            shards = {"total": 2, "successful": 1, "failed": 0}
            made = orjson.dumps({**told, "result": "created", "_shards": shards})
            return peer.write(answer(201, made, JSON, ("location", f"/{self.w.index}/_doc/{id.decode()}")))
        why = {"type": "version_conflict_engine_exception", "reason": "exists", "index": self.w.index, "shard": "0"}
        peer.write(answer(409, orjson.dumps({"error": {"root_cause": [why], **why}, "status": 409}), JSON))


async def test_document_without_an_id_gets_one(layout):
    async with world(layout) as w:
        node = Node(w)
        got = await w.ask("POST", "/books/_doc", b'{"w":1}')
        tree = orjson.loads(got.body)
        assert got.status == 201 and tree["result"] == "created" and tree["_index"] == "books" and len(tree["_id"]) == 20
        assert got.headers[b"location"] == f"/books/_doc/{tree['_id']}".lower().encode()
        assert list(node.documents) == [w.id(tree["_id"]).encode()]
        assert [method for method, _ in node.seen] == ["PUT"] and b"op_type=create" in node.seen[0][1]


@pytest.mark.parametrize("query", ["", "?refresh=true", "?refresh=wait_for"])
async def test_write_that_had_arrived_when_its_connection_broke_is_created(layout, query):
    async with world(layout) as w:
        node = Node(w, breaks=1)
        got = await w.ask("POST", "/books/_doc" + query, b'{"w":1}')
        tree = orjson.loads(got.body)
        assert got.status == 201 and got.headers[b"location"] == f"/books/_doc/{tree['_id']}".lower().encode()
        assert list(node.documents) == [w.id(tree["_id"]).encode()]
        assert [method for method, _ in node.seen] == ["PUT", "PUT", "GET"]
        assert tree == {
            "_index": "books", "_id": tree["_id"], "_version": 1, "result": "created",
            **({"forced_refresh": True} if query == "?refresh=true" else {}),
            "_shards": {"total": 1, "successful": 1, "failed": 0}, "_seq_no": 7, "_primary_term": 1,
        }  # fmt: skip
        told = node.seen[-1][1]
        assert (b"refresh=true" in told) is ("refresh" in query) and b"_source=false" in told
        assert (b"routing=acme.18" in told) is (layout != "dedicated")


async def test_what_a_write_made_is_looked_for_under_its_routing():
    async with world("dedicated") as w:
        node = Node(w, breaks=1)
        got = await w.ask("POST", "/books/_doc?routing=r%26", b'{"w":1}')
        assert got.status == 201 and node.seen[-1] == ("GET", b"_source=false&routing=r%26")


async def test_created_after_a_retry_is_filtered_as_asked(layout):
    async with world(layout) as w:
        Node(w, breaks=1)
        got = await w.ask("POST", "/books/_doc?filter_path=result,_index", b'{"w":1}')
        assert orjson.loads(got.body) == {"_index": "books", "result": "created"}


async def test_write_that_breaks_twice_is_a_502(layout):
    async with world(layout) as w:
        node = Node(w, breaks=2)
        got = await w.ask("POST", "/books/_doc", b'{"w":1}')
        assert got.status == 502 and len(node.seen) == 2 and len(node.documents) == 1


async def test_conflict_with_a_document_that_is_gone_stays_one(layout):
    async with world(layout) as w:
        Node(w, breaks=1, gone=True)
        got = await w.ask("POST", "/books/_doc", b'{"w":1}')
        assert got.status == 409 and orjson.loads(got.body)["error"]["index"] == "books"


@pytest.mark.parametrize("path", ["/books/_doc/1", "/books/_create/1"])
async def test_write_with_the_clients_id_is_sent_once(layout, path):
    async with world(layout) as w:
        node = Node(w, breaks=1)
        got = await w.ask("PUT", path, b'{"w":1}')
        assert got.status == 502 and len(node.seen) == 1


TELLING = ["version=3&version_type=external", "if_seq_no=1&if_primary_term=1", "op_type=index", "pipeline=p"]


@pytest.mark.parametrize("query", TELLING)
async def test_write_whose_parameters_say_something_about_ids_is_sent_as_it_is(query):
    async with world("dedicated") as w:
        node = Node(w)
        await w.ask("POST", "/books/_doc?" + query, b'{"w":1}')
        assert [method for method, _ in node.seen] == ["POST"]


async def test_write_that_is_refused_with_an_id_is_sent_as_the_client_sent_it():
    async with world("dedicated") as w:
        seen = []

        async def series(peer: Peer) -> None:
            await peer.body()
            seen.append((peer.seen.method, peer.seen.target))
            if peer.seen.method == "PUT":
                why = {"type": "illegal_argument_exception", "reason": "_id must be unset"}
                return peer.write(answer(400, orjson.dumps({"error": {"root_cause": [why], **why}, "status": 400}), JSON))
            peer.write(answer(201, b'{"_index":"acme.books","_id":"made","_version":1,"result":"created"}', JSON))

        w.stub.default = series
        got = await w.ask("POST", "/books/_doc?timeout=5s", b'{"w":1}')
        assert got.status == 201 and orjson.loads(got.body)["_id"] == "made"
        assert [method for method, _ in seen] == ["PUT", "POST"] and seen[1][1] == b"/acme.books/_doc?timeout=5s"


async def test_search_whose_connection_breaks_is_sent_again(layout):
    async with world(layout) as w:
        breaks = [True]

        async def node(peer: Peer) -> None:
            await peer.body()
            if breaks.pop():
                breaks.append(False)
                return peer.close()
            peer.write(answer(200, w.search_answer(2), JSON))

        w.on_search(node)
        got = await w.ask("POST", "/books/_search", b"{}")
        assert got.status == 200 and len(orjson.loads(got.body)["hits"]["hits"]) == 2
