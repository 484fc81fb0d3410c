"""A server on loopback that misbehaves on request and records its connections."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import gzip
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

TEMPLATE = "heat_template_version: 2021-04-16\n"
OK = b"HTTP/1.1 200 OK\r\n"


class Server:
    """Answers by the path it is asked for."""

    def __init__(self) -> None:
        self.port = 0
        self.asked: list[str] = []
        self.heads: list[str] = []
        self.sent = 0
        self.redirect_to = ""
        self._tasks: set[asyncio.Task[None]] = set()

    def url(self, path: str = "/good", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    @contextlib.asynccontextmanager
    async def running(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=tls)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            path = head.split(" ")[1]
            self.asked.append(path)
            self.heads.append(head)
            await getattr(self, "_" + path.partition("?")[0].strip("/").replace("-", "_"))(writer)
        except (OSError, asyncio.CancelledError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        writer.write(data)
        await writer.drain()
        self.sent += len(data)

    async def _good(self, writer: asyncio.StreamWriter) -> None:
        await self._send(writer, OK + b"Content-Length: %d\r\n\r\n" % len(TEMPLATE) + TEMPLATE.encode())

    async def _redirect(self, writer: asyncio.StreamWriter) -> None:
        await self._send(writer, b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + self.redirect_to.encode()
                         + b"\r\n\r\n")

    async def _loop(self, writer: asyncio.StreamWriter) -> None:
        await self._send(writer, b"HTTP/1.1 301 Moved\r\nContent-Length: 0\r\nLocation: /loop\r\n\r\n")

    async def _missing(self, writer: asyncio.StreamWriter) -> None:
        await self._send(writer, b"HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\nMARKER!")

    async def _drip(self, writer: asyncio.StreamWriter) -> None:
        await self._send(writer, OK + b"Content-Length: 1000\r\n\r\n")
        while True:
            await self._send(writer, b"x")
            await asyncio.sleep(0.05)

    async def _drip_head(self, writer: asyncio.StreamWriter) -> None:
        await self._send(writer, OK)
        while True:
            await self._send(writer, b"X-More: y\r\n")
            await asyncio.sleep(0.05)

    async def _silent(self, _writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async def _endless(self, writer: asyncio.StreamWriter) -> None:
        await self._send(writer, OK + b"Transfer-Encoding: chunked\r\n\r\n")
        while True:
            await self._send(writer, b"4000\r\n" + b"x" * 0x4000 + b"\r\n")

    async def _huge_head(self, writer: asyncio.StreamWriter) -> None:
        await self._send(writer, OK)
        while True:
            await self._send(writer, b"X-More: " + b"y" * 4000 + b"\r\n")

    async def _says_less(self, writer: asyncio.StreamWriter) -> None:
        """Send more bytes than announced; the client ignores the rest."""
        await self._send(writer, OK + b"Content-Length: %d\r\n\r\n" % len(TEMPLATE) + TEMPLATE.encode() + b"x" * 100_000)

    async def _says_more(self, writer: asyncio.StreamWriter) -> None:
        await self._send(writer, OK + b"Content-Length: 500\r\n\r\nonly this")

    async def _bomb(self, writer: asyncio.StreamWriter) -> None:
        packed = gzip.compress(b"\0" * 50_000_000)
        await self._send(writer, OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed)

    async def _binary(self, writer: asyncio.StreamWriter) -> None:
        await self._send(writer, OK + b"Content-Length: 2\r\n\r\n\xff\xfe")

    async def _nonsense(self, writer: asyncio.StreamWriter) -> None:
        await self._send(writer, b"SSH-2.0-OpenSSH_9.6\r\n")


def certificate(folder: Path, name: str) -> Path:
    """Write a self-signed certificate and its key into one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / "certificate.pem"
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return file
