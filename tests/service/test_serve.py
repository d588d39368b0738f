"""Where a service may listen, HTTPS, and what it loads before it answers."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from ssl import create_default_context

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tacit.errors import InvalidInputError
from tacit.service.serve import Listening
from tests.service.server import serving
from tests.study.clinic import make_clinic


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.1", "clinic.example"])
def test_secrets_do_not_travel_in_plain_text(address: str) -> None:
    with pytest.raises(InvalidInputError, match="TLS"):
        Listening(address)
    assert Listening(address, behind_proxy=True).is_secure


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_loopback_needs_nothing(address: str) -> None:
    assert not Listening(address).is_secure


def test_a_certificate_needs_its_key() -> None:
    with pytest.raises(InvalidInputError, match="both"):
        Listening(certfile=Path("a.pem"))


def certificate(place: Path) -> tuple[Path, Path]:
    """Files of a certificate of localhost, and of its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    certfile, keyfile = place / "cert.pem", place / "key.pem"
    certfile.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    keyfile.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return certfile, keyfile


def test_https(tmp_path: Path) -> None:
    make_clinic(tmp_path).close()
    certfile, keyfile = certificate(tmp_path)
    options = ("--certfile", str(certfile), "--keyfile", str(keyfile), "--workers", "1")
    with serving(tmp_path / "clinic", None, *options) as server:
        assert server.url.startswith("https://localhost:")
        context = create_default_context(cafile=str(certfile))
        with httpx.Client(base_url=server.url, verify=context, timeout=20) as client:
            secret = server.login.rpartition("/")[2]
            answer = client.post("/login", data={"secret": secret})
            cookie = answer.headers["set-cookie"]
            assert cookie.startswith("__Host-tacit=")
            assert "Secure" in cookie
            assert "strict-transport-security" in answer.headers
            assert client.get("/api/study").status_code == 200


def test_a_server_stops_at_once(tmp_path: Path) -> None:
    make_clinic(tmp_path).close()
    with serving(tmp_path / "clinic", None, "--workers", "1") as server:
        server.process.terminate()
        server.process.join(20)
        assert not server.process.is_alive()


LOADED = "import sys, tacit.service.serve; print(*sys.modules, sep='\\n')"


def test_a_server_answers_before_slow_packages_are_loaded() -> None:
    """What only designs, estimates and figures need is loaded with the first of them."""
    command = [sys.executable, "-c", LOADED]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "fastapi" in loaded
    slow = {"scipy.optimize", "scipy.special", "matplotlib", "pandas", "tacit.estimation"}
    assert not slow & set(loaded)
