"""TLS to nodes: verified by default, against the configured authority, with a client certificate where asked for."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.stub import Peer, Stub, answer


def certificate(folder: Path, host: str) -> SimpleNamespace:
    """A certificate signed by itself, for an IP address or name, as PEM files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "node")])
    try:
        subject = x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        subject = x509.DNSName(host)
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([subject]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = SimpleNamespace(cert=str(folder / f"{host}.pem"), key=str(folder / f"{host}.key"))
    Path(files.cert).write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    Path(files.key).write_bytes(key.private_bytes(*private))
    return files


@pytest.fixture(scope="module")
def right(tmp_path_factory) -> SimpleNamespace:
    return certificate(tmp_path_factory.mktemp("tls"), "127.0.0.1")


@pytest.fixture(scope="module")
def wrong(tmp_path_factory) -> SimpleNamespace:
    return certificate(tmp_path_factory.mktemp("tls"), "other.example")


def server(files: SimpleNamespace, clients: str | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.cert, files.key)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients)
    return context


async def test_tls_call_is_answered_and_its_connection_reused(runner, right):
    body = b"x" * 3_000_000
    async with Stub(tls=server(right)) as stub:
        stub.on("/big", answer(200, body))
        engine = runner.engine(stub.url, ca=right.cert)
        for _ in range(3):
            got = await runner.ask(engine, "POST", "/big", b"y" * 500_000)
            assert (got.failure, got.body) == (None, body)
        assert stub.connections == 1 and len(stub.requests[0].body) == 500_000


async def test_tls_of_an_unknown_authority_fails_as_connect(runner, right):
    async with Stub(tls=server(right)) as stub:
        got = await runner.ask(runner.engine(stub.url))
        assert (got.failure.what, stub.requests) == ("connect", [])


async def test_tls_for_another_host_fails_as_connect(runner, wrong):
    async with Stub(tls=server(wrong)) as stub:
        got = await runner.ask(runner.engine(stub.url, ca=wrong.cert))
        assert (got.failure.what, stub.requests) == ("connect", [])


async def test_tls_without_verification_is_possible_by_its_name(runner, wrong):
    async with Stub(tls=server(wrong)) as stub:
        assert (await runner.ask(runner.engine(stub.url, insecure_skip_verify=True))).failure is None


async def test_client_certificate_is_presented(runner, right):
    async with Stub(tls=server(right, clients=right.cert)) as stub:
        engine = runner.engine(stub.url, ca=right.cert, client_cert=right.cert, client_key=right.key)
        assert (await runner.ask(engine)).failure is None
        without = await runner.ask(runner.engine(stub.url, ca=right.cert))
        assert without.failure is not None and len(stub.requests) == 1


async def test_plain_http_to_a_tls_node_fails(runner, right):
    async with Stub(tls=server(right)) as stub:
        got = await runner.ask(runner.engine(stub.url.replace("https", "http")))
        assert got.failure.what == "broken"


async def test_tls_to_a_plain_node_fails_as_connect(runner, stub: Stub, right):
    got = await runner.ask(runner.engine(stub.url.replace("http", "https"), ca=right.cert))
    assert got.failure.what == "connect"


async def test_tls_cut_in_an_answer_is_broken(runner, right):
    async def script(peer: Peer) -> None:
        peer.write(answer(200, b"0123456789")[:-5])
        await peer.drain()
        peer.close()

    async with Stub(tls=server(right)) as stub:
        stub.on("/x", script)
        got = await runner.ask(runner.engine(stub.url, ca=right.cert), "GET", "/x")
        assert (got.failure.what, got.body) == ("broken", b"01234")
