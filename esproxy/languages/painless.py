"""What a script reads: fields, its index's name, ids; and the same source with physical names in their place.

Theory. Painless is not parsed. Its tokens (``painless_lexer``) are searched for the few *roots* through which a script
reaches a document, and from each root the chain of steps behind it is read:

    doc['f']  doc.f  doc.get('f')  doc.containsKey('f')      params.doc, params._doc, params._fields: the same, under params
    params._source.a.b   ctx._source.a['b']   ctx._source.remove('a')
    ctx._index  ctx._id  ctx._routing  metadata().index      (metadata: Elasticsearch)
    field('f')  $('f', d)                                    (Elasticsearch)
    cosineSimilarity(q, 'f')  randomScore(7, 'f')  …         functions whose last argument names a field
    emit(…)

A step that is not literal (``doc[k]``), a root that is not followed by a step (``def d = doc``, ``f(ctx)``) and a method
we do not know are **computed**: a reference whose value is None. What to do about them is the caller's: a layout that
renames nothing copies them, a pool refuses. So nothing is missed by way of an alias: whoever wants an alias has to name
the root. A name that only looks like a root (a variable called ``doc`` where there is none) is reported too.

Measured on nodes, see tests/integration/test_languages.py: ``params`` carries ``doc``, ``_doc``, ``_source`` and ``_fields``
in field and score scripts, not in filters; scripts over documents (update, by query, reindex, ingest) know no ``doc`` and
their ``params`` are the client's own, hence ``Context``. In ingest scripts a step of ``ctx`` that is no metadata is a field.

An index's name is read through a small function put before the source; it depends on the *length* of the prefix only,
so that tenants share compiled scripts (nodes limit compilations), and leaves ``.ds-`` of a data stream's indices in place.
In a pool the function knows the names, a constant where all documents of a script have one logical index; ids and routing values
are read through one that takes the scope off. A routing value that is the bare scope is none.
Lucene expressions (``lang: expression``) only know ``doc['f']``, ``.value`` and the like: the same functions serve them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from esproxy.languages import Edits, LanguageError
from esproxy.languages.painless_lexer import tokenize
from esproxy.languages.painless_scan import Context, Ref, Reference, Scanner, Script

__all__ = ["Context", "Ref", "Reference", "Script", "rewrite", "scan"]

HELPER = "esproxyIndex"
OWN = "esproxyOwn"
ROUTING = "esproxyRouting"
FIELD = "esproxyField"
NOTHING = "esproxy~00."  # in front of the name of a field that is not there: an object that no pool has
PARAMETER = "esproxyParam"
CUT = " ..."
OWN_ID = f"def {OWN}(def v){{return v==null?null:v.substring(v.indexOf(':')+1)}} "
MADE = "|".join((HELPER, OWN, ROUTING, FIELD, PARAMETER))
PUT_IN = re.compile(rf"(?:String|def) (?:{MADE})\(def [inv]\){{(?:'(?:[^'\\]|\\.)*'|[^'}}])*}} ")
# What leads to a document has to be named as it is.
OWN_PARAMETER = f"def {PARAMETER}(def n){{return n=='doc'||n=='_doc'||n=='_fields'||n=='_source'?'~':n}} "


@dataclass(slots=True, frozen=True)
class InPool:
    """A script over documents in pools: ``names`` of the indices, by their physical ones; ``numbered``: is the number of a shard
    behind routing values?"""

    names: Mapping[str, str]
    numbered: bool = False


def scan(source: str, context: Context = Context.SEARCH) -> Script:
    """All references, in order. Raises ``LanguageError`` for what no node would read or we could read differently."""
    scanner = Scanner(source, context)
    scanner.run()
    return Script(source, tuple(scanner.found))


def rewrite(
    source: str,
    field: Callable[[str], str],
    index_prefix: str | None = None,
    pool: InPool | None = None,
    source_root: str | None = None,
    context: Context = Context.SEARCH,
    path: Callable[[str], str] | None = None,
    lookup: str | None = None,
) -> str:
    """The source with the edits of ``edited``; ``source`` itself when nothing changed."""
    return edited(source, field, index_prefix, pool, source_root, context, path, lookup).apply()


def edited(
    source: str,
    field: Callable[[str], str],
    index_prefix: str | None = None,
    pool: InPool | None = None,
    source_root: str | None = None,
    context: Context = Context.SEARCH,
    path: Callable[[str], str] | None = None,
    lookup: str | None = None,
) -> Edits:
    """``source`` with every literal field name replaced by ``field(name)``, reads of the index's name without
    ``index_prefix`` and writes with it, or reads of it, of an id and of a routing value as they are in a ``pool``. With
    ``source_root`` the client's document is the object of that name in the stored one: it is what ``ctx._source`` and
    ``params._source`` become, also where they are computed, and paths below keep their names. Where ``path`` is given, it is
    what paths in a document are replaced by. With ``lookup``, a function for how fields are called (``own_fields``,
    ``fields_below``), keys of ``doc`` and ``params`` that the script makes are looked up when it runs. Computed references
    else are left: look at ``scan(source).computed`` first."""
    scanner = Scanner(source, context)
    scanner.run()
    edits = Edits(source)
    read = {ref.kind for ref in scanner.found if ref.value and not ref.write}
    if Ref.INDEX in read and pool is not None:
        edits.put(0, 0, index_in_pool(pool.names))
    elif Ref.INDEX in read and index_prefix:
        edits.put(0, 0, helper(len(index_prefix)))
    if Ref.ID in read and pool is not None:
        edits.put(0, 0, OWN_ID)
    if Ref.ROUTING in read and pool is not None:
        edits.put(0, 0, own_routing(pool.numbered))
    made = {ref.kind for ref in scanner.found if ref.argument is not None} if lookup is not None else set()
    if Ref.DOC in made and lookup is not None:
        edits.put(0, 0, lookup)
    if Ref.PARAMS in made:
        edits.put(0, 0, OWN_PARAMETER)
    closing: list[int] = []  # written last: what ends at the same place belongs inside
    for ref in scanner.found:
        if ref.kind is Ref.SOURCE and source_root is not None:
            edits.put(ref.root_end, ref.root_end, brackets([source_root]))
        elif ref.argument is not None and made:
            edits.put(ref.argument[0], ref.argument[0], f"{FIELD if ref.kind is Ref.DOC else PARAMETER}(")
            edits.put(ref.argument[1], ref.argument[1], ")")
        elif ref.value is None:
            continue
        elif ref.kind is Ref.SOURCE:
            rename_path(edits, ref, (path or field)(ref.value))
        elif ref.kind in (Ref.DOC, Ref.FIELD):
            new = (path if path and context is Context.WRITE else field)(ref.value)
            if new != ref.value:
                edits.put(ref.start, ref.end, steps_to([new], edits.text[ref.start : ref.end]) if ref.steps else quote(new))
        elif ref.kind is Ref.INDEX and (index_prefix or pool is not None):
            if not ref.write:
                edits.put(ref.start, ref.start, f"{HELPER}(")
                edits.put(ref.end, ref.end, ")")
            elif ref.write == "=" and index_prefix:
                begin, end = scanner.assigned(ref)
                edits.put(begin, begin, f" {quote(index_prefix)} + (")
                closing.append(end)
        elif ref.kind in (Ref.ID, Ref.ROUTING) and pool is not None and not ref.write:
            edits.put(ref.start, ref.start, f"{OWN if ref.kind is Ref.ID else ROUTING}(")
            edits.put(ref.end, ref.end, ")")
    for end in closing:
        edits.put(end, end, ")")
    if closing:
        tokenize(edits.apply())  # behind a parenthesis a slash is another thing than behind an operator
    return edits


def helper(length: int) -> str:
    stream = ".ds-"
    body = f"i.startsWith('{stream}')?'{stream}'+i.substring({len(stream) + length}):i.substring({length})"
    return f"def {HELPER}(def i){{return {body}}} "


def index_in_pool(names: Mapping[str, str]) -> str:
    if len(names) == 1:
        (body,) = map(quote, names.values())
    else:
        body = "".join(f"i=={quote(physical)}?{quote(name)}:" for physical, name in names.items()) + "null"
    return f"def {HELPER}(def i){{return {body}}} "


def own_routing(numbered: bool) -> str:
    own = "v.substring(v.indexOf(':')+1,v.lastIndexOf(':'))" if numbered else "v.substring(v.indexOf(':')+1)"
    return f"def {ROUTING}(def v){{if(v==null)return null;String r={own};return r.length()==0?null:r}} "


def own_fields(fields: Mapping[str, str]) -> str:
    """A function for the name by which a field is asked for; one that nothing has for what is not among them."""
    own = ",".join(f"{quote(name)}:{quote(physical)}" for name, physical in sorted(fields.items())) or ":"
    return f"def {FIELD}(def n){{def m=[{own}];return m.containsKey(n)?m.get(n):n==null?null:{quote(NOTHING)}+n}} "


def fields_below(root: str, plain: Collection[str]) -> str:
    """The same where all fields lie in the object ``root``, but for the ``plain`` ones."""
    asked = "".join(f"||n=={quote(name)}" for name in plain)
    return f"def {FIELD}(def n){{return !(n instanceof String){asked}?n:{quote(root + '.')}+n}} "


def restored_cut(text: str, sent: str, own: str) -> str:
    """The client's script for one that was sent, as nodes quote it: as far as it goes into a line."""
    front = text.removesuffix(CUT)
    if front == text or not front or not sent.startswith(front):
        return text
    return own if len(own) <= len(front) else own[: len(front)] + CUT


def restored_in_pool(text: str) -> str:
    """``restored`` for a script over documents in pools."""
    text = PUT_IN.sub("", text)
    for name in (HELPER, OWN, ROUTING, FIELD, PARAMETER):
        text = _unwrapped(text, f"{name}(")
    return text.replace(NOTHING, "")


def restored(text: str, index_prefix: str) -> str:
    """Text that quotes a script of ours, as errors do, with what was put in for ``_index`` taken out again."""
    text = text.replace(helper(len(index_prefix)), "")
    return _unwrapped(_unwrapped(text, f"{HELPER}("), f" {quote(index_prefix)} + (")


def _unwrapped(text: str, call: str) -> str:
    """Without ``call`` and the parenthesis that closes it, wherever it stands."""
    at = text.find(call)
    while at != -1:
        depth, end = 1, at + len(call)
        while end < len(text) and depth:
            depth += (text[end] == "(") - (text[end] == ")")
            end += 1
        inside = text[at + len(call) : end - 1] if not depth else text[at + len(call) :]
        text = text[:at] + inside + text[end:]
        at = text.find(call)
    return text


def rename_path(edits: Edits, ref: Reference, new: str) -> None:
    old = ref.value or ""
    if new == old:
        return
    if new.endswith("." + old):  # objects around it: the path itself stays as it is written
        edits.put(ref.root_end, ref.root_end, brackets(new[: -len(old) - 1].split(".")))
        return
    if old.count(".") + 1 != ref.steps + (ref.tail is not None):
        raise LanguageError(ref.start, f"[{old}] has keys with dots in them")
    keys = new.split(".")
    if ref.tail is not None:
        edits.put(*ref.tail, quote(keys.pop()))
    edits.put(ref.start, ref.end, steps_to(keys, edits.text[ref.start : ref.end]))


def steps_to(keys: list[str], old: str) -> str:
    """Steps that reach ``keys``, null-safe if the old ones were."""
    if "?." in old:
        return "".join(f"?.get({quote(key)})" for key in keys)
    return brackets(keys)


def brackets(keys: list[str]) -> str:
    return "".join(f"[{quote(key)}]" for key in keys)


def quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
