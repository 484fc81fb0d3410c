"""Messages of several parts, as cloud-init takes user data."""

from __future__ import annotations

import email
import email.message
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText


@dataclass(frozen=True, slots=True)
class Part:
    """One part: a text of a kind that cloud-init knows, with the name of a file. `plain`: cloud-init looks at the text."""

    content: str
    subtype: str = "plain"
    filename: str = ""


def of(parts: Iterable[Part], boundary: str) -> str:
    """Return the message of these parts. The same parts give the same message."""
    message = MIMEMultipart(boundary=boundary)
    for part in parts:
        text = MIMEText(part.content, part.subtype, "us-ascii" if part.content.isascii() else "utf-8")
        if part.filename:
            text.add_header("Content-Disposition", "attachment", filename=part.filename)
        message.attach(text)
    return message.as_string()


def parts_of(text: str) -> Iterator[Part]:
    """Yield the parts of user data: those inside of a message, or the text as one part."""
    message = email.message_from_string(text)
    if not message.is_multipart():
        yield Part(text)
        return
    for part in message.walk():
        if not part.is_multipart():
            yield Part(_content(part), part.get_content_subtype(), part.get_filename() or "")


def _content(part: email.message.Message) -> str:
    data = part.get_payload(decode=True)
    return data.decode(part.get_content_charset() or "utf-8", "replace") if isinstance(data, bytes) else str(data)
