"""Bodies that the micro benchmarks rewrite, made here: the shapes and sizes that a multi-tenant search service sees.

Each `Input` says in which state of the shipped tables it stands and what the yardstick `orjson.loads` + `dumps` is given:
the whole body, or a bulk line by line. Compact JSON without white space, as clients send it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Input:
    name: str
    place: str  # "search", "answer", "document" or "bulk"
    body: bytes

    @property
    def parts(self) -> list[bytes]:
        """What a JSON library parses and writes to do the same work."""
        return self.body.splitlines() if self.place == "bulk" else [self.body]


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


SIMPLE = {"query": {"match": {"title": {"query": "wireless noise cancelling", "operator": "and"}}}, "size": 10}

COMPLEX = {
    "query": {
        "bool": {
            "must": [{"match": {"title": "search engine"}}, {"term": {"status": "published"}}],
            "filter": [
                {"range": {"created_at": {"gte": "2026-01-01", "lte": "2026-12-31"}}},
                {"terms": {"tags": ["search", "proxy"]}},
            ],
            "should": [{"match_phrase": {"summary": "many tenants"}}],
            "must_not": [{"exists": {"field": "deleted_at"}}],
        }
    },
    "sort": [{"created_at": "desc"}],
    "size": 20,
}

VERY_COMPLEX = {
    "query": {
        "bool": {
            "must": [
                {"multi_match": {"query": "running shoes", "fields": ["title^3", "brand.name"], "type": "best_fields"}},
                {"bool": {"should": [{"term": {"color": "blue"}}, {"term": {"color": "black"}}], "minimum_should_match": 1}},
            ],
            "filter": [
                {"range": {"price": {"gte": 25, "lt": 150.5}}},
                {"bool": {"must_not": [{"term": {"stock.state": "none"}}, {"range": {"stock.count": {"lt": 1}}}]}},
                {"nested": {"path": "reviews", "query": {"range": {"reviews.stars": {"gte": 4}}}}},
                {"terms": {"category.id": [12, 37, 51, 98]}},
            ],
            "should": [{"function_score": {"query": {"match": {"brand.name": "acme"}}, "boost": 2.5}}],
        }
    },
    "aggs": {
        "by_brand": {
            "terms": {"field": "brand.name", "size": 20},
            "aggs": {"price": {"avg": {"field": "price"}}, "sold": {"sum": {"field": "sales.total"}}},
        },
        "over_time": {
            "date_histogram": {"field": "created_at", "calendar_interval": "month"},
            "aggs": {"buyers": {"cardinality": {"field": "buyer.id"}}},
        },
        "price_ranges": {"range": {"field": "price", "ranges": [{"to": 50}, {"from": 50, "to": 100}, {"from": 100}]}},
    },
    "sort": [{"_score": "desc"}, {"sales.total": {"order": "desc"}}],
    "_source": ["title", "price", "brand.name"],
    "highlight": {"fields": {"title": {}, "description": {"number_of_fragments": 2}}},
    "from": 0,
    "size": 24,
}

DOCUMENT = {
    "title": "Trail shoe, light",
    "price": 89.9,
    "stock": {"count": 17, "state": "some"},
    "tags": ["outdoor", "shoes", "running"],
    "created_at": "2026-03-01T10:00:00Z",
    "brand": {"name": "Acme", "country": "DE"},
    "description": "For long ways on soft ground.",
}


def small_document(n: int) -> dict[str, Any]:
    """A little over 100 bytes."""
    at = "2026-03-01T10:00:00Z"
    return {"title": f"Article {n}", "status": "active", "count": n, "price": n * 1.25, "tags": ["a", "b"], "at": at}


def bulk(records: int) -> bytes:
    lines = []
    for n in range(records):
        lines += [compact({"index": {"_index": "articles", "_id": f"doc-{n}"}}), compact(small_document(n))]
    return b"\n".join(lines) + b"\n"


def answer(hits: int, prefix: str) -> bytes:
    """What a node of a ``dedicated`` tenant answers to a search."""
    index = f"{prefix}articles"
    found = [{"_index": index, "_id": f"doc-{n}", "_score": 1.5, "_source": {**DOCUMENT, "n": n}} for n in range(hits)]
    total = {"value": hits, "relation": "eq"}
    shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
    return compact({"took": 3, "timed_out": False, "_shards": shards, "hits": {"total": total, "max_score": 1.5, "hits": found}})


PREFIX = "acme."
INPUTS = [
    Input("empty", "search", b"{}"),
    Input("match_all", "search", compact({"query": {"match_all": {}}})),
    Input("simple", "search", compact(SIMPLE)),
    Input("complex", "search", compact(COMPLEX)),
    Input("very complex", "search", compact(VERY_COMPLEX)),
    Input("document", "document", compact(DOCUMENT)),
    Input("bulk 10", "bulk", bulk(10)),
    Input("bulk 100", "bulk", bulk(100)),
    Input("answer 2", "answer", answer(2, PREFIX)),
    Input("answer 100", "answer", answer(100, PREFIX)),
]
