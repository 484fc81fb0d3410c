"""The ring, the redactor, and what counts as a key."""

from __future__ import annotations

import base64
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from isotherm import errors, secrets
from isotherm.config import Settings
from isotherm.engine.process import key_file
from isotherm.secrets import Redactor
from isotherm.secrets.ring import KeyRing

OLD, NEW, OTHER = "an old key, which is long enough", "a new key, which is long enough.", "somebody else's key, 32 or more."
TEXT = 'Sécret "text"\nof two lines'


def test_what_is_sealed_opens_again_and_shows_nothing() -> None:
    sealed = KeyRing([NEW]).seal(TEXT, "properties/7/stack")
    assert secrets.is_sealed(sealed)
    assert "ecret" not in sealed
    assert base64.b64encode(b"ecret").decode()[:5] not in sealed
    assert KeyRing([NEW]).open(sealed, "properties/7/stack") == TEXT


def test_the_same_text_never_looks_the_same() -> None:
    ring = KeyRing([NEW])
    assert len({ring.seal("x", "place") for _ in range(3000)}) == 3000


def test_rotation() -> None:
    """The newest seals, all open; each text names its key."""
    old = KeyRing([OLD]).seal(TEXT, "p")
    both = KeyRing([NEW, OLD])
    new = both.seal(TEXT, "p")
    assert (both.open(old, "p"), both.open(new, "p")) == (TEXT, TEXT)
    assert KeyRing([NEW]).open(new, "p") == TEXT
    assert secrets.key_name(old) != secrets.key_name(new)
    with pytest.raises(errors.Unreadable, match=secrets.key_name(old)):
        KeyRing([NEW]).open(old, "p")


def test_a_text_opens_only_where_it_belongs() -> None:
    """Case 47: moved to another row, column or stack, it is not authentic."""
    ring = KeyRing([NEW])
    sealed = ring.seal(TEXT, "properties/7/stack")
    for place in ("properties/8/stack", "data/7/stack", "properties/7/other", ""):
        with pytest.raises(errors.Unreadable, match="not authentic"):
            ring.open(sealed, place)


@pytest.mark.parametrize("spoil", [
    lambda s: s[:-4] + ("AAAA" if s[-4:] != "AAAA" else "BBBB"), lambda s: s[:30], lambda s: s[:-3] + "%%%",
    lambda s: s.partition("$iso1$")[1] + secrets.key_name(s) + "$",
])
def test_what_was_changed_is_not_authentic(spoil: Callable[[str], str]) -> None:
    ring = KeyRing([NEW])
    with pytest.raises(errors.Unreadable):
        ring.open(spoil(ring.seal(TEXT, "p")), "p")


def test_marks_need_the_key() -> None:
    """The same word has the same mark under the same key, and no other: a guess cannot be tried without the key."""
    assert KeyRing([NEW]).marks("pw") == KeyRing([NEW]).marks("pw")
    assert KeyRing([NEW]).marks("pw") != KeyRing([OTHER]).marks("pw")
    assert KeyRing([NEW, OLD]).marks("pw") == [*KeyRing([NEW]).marks("pw"), *KeyRing([OLD]).marks("pw")]


def test_a_ring_does_not_show_its_keys() -> None:
    assert "key" not in repr(KeyRing([NEW])).replace("KeyRing", "")


@pytest.mark.parametrize(
    "key", ["", "short", "notgood but just long enough i t", "x" * 31, "aaaaaaaabbbbbbbbccccccccdddddddd"])
def test_no_service_starts_with_a_key_that_is_none(key: str) -> None:
    """Case 46."""
    with pytest.raises(errors.UserError) as raised:
        secrets.check(Settings(auth_encryption_key=key))
    assert raised.value.kind == "InvalidEncryptionKey"
    assert not key or key not in str(raised.value)


def test_old_keys_have_to_be_keys_too() -> None:
    secrets.check(Settings(auth_encryption_key=NEW, auth_encryption_key_ring=(OLD,)))
    with pytest.raises(errors.UserError):
        secrets.check(Settings(auth_encryption_key=NEW, auth_encryption_key_ring=("short",)))


def test_the_settings_do_not_show_the_key() -> None:
    assert NEW not in repr(Settings(auth_encryption_key=NEW, auth_encryption_key_ring=(OLD,)))


# The file of a folder.


def test_the_file_of_keys_is_made_once_and_for_the_owner(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        first = key_file.ring(tmp_path, Settings())
    finally:
        os.umask(before)
    path = tmp_path / key_file.KEYS
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]
    assert len(key_file.read(path)[0]) >= 64
    assert key_file.ring(tmp_path, Settings()).open(first.seal(TEXT, "p"), "p") == TEXT


def test_a_key_on_top_of_the_file_rotates(tmp_path: Path) -> None:
    sealed = key_file.ring(tmp_path, Settings()).seal(TEXT, "p")
    path = tmp_path / key_file.KEYS
    path.write_text(f"{NEW}\n{path.read_text()}")
    ring = key_file.ring(tmp_path, Settings())
    assert ring.open(sealed, "p") == TEXT
    assert secrets.key_name(ring.seal(TEXT, "p")) != secrets.key_name(sealed)


def test_a_configured_key_comes_before_those_of_the_file(tmp_path: Path) -> None:
    sealed = key_file.ring(tmp_path, Settings()).seal(TEXT, "p")
    ring = key_file.ring(tmp_path, Settings(auth_encryption_key=NEW))
    assert ring.open(sealed, "p") == TEXT
    assert KeyRing([NEW]).open(ring.seal(TEXT, "p"), "p") == TEXT


def test_a_configured_key_needs_no_file(tmp_path: Path) -> None:
    key_file.ring(tmp_path, Settings(auth_encryption_key=NEW))
    assert not list(tmp_path.iterdir())


def test_keys_that_others_can_read_are_refused(tmp_path: Path) -> None:
    key_file.make(tmp_path / key_file.KEYS)
    (tmp_path / key_file.KEYS).chmod(0o644)
    with pytest.raises(errors.UserError, match="others"):
        key_file.ring(tmp_path, Settings())


# The redactor.

SECRET = 'p&ss "wörd"/1'


@pytest.mark.parametrize("quoted", [
    SECRET, json.dumps({"x": SECRET}), json.dumps({"x": SECRET}, ensure_ascii=False), repr({"x": SECRET}),
    "https://u:p%26ss%20%22w%C3%B6rd%22%2F1@host/", "q=p%26ss+%22w%C3%B6rd%22%2F1&r=2",
    base64.b64encode(SECRET.encode()).decode(), f"{SECRET}{SECRET}",
])
def test_a_secret_is_found_however_it_is_quoted(quoted: str) -> None:
    told = Redactor([SECRET]).text(f"ValueError: resources.a: {quoted} is bad")
    assert "ss" not in told.replace("******", "").replace("resources", "")
    assert told.startswith("ValueError: resources.a: ")
    assert told.endswith("is bad")


def test_a_short_secret_is_masked_where_it_stands_alone() -> None:
    redactor = Redactor([7, "ab"])
    assert redactor.text("7 of 17 are ab, not abc") == "****** of 17 are ******, not abc"
    assert redactor.value({"a": 7, "b": 17, "c": "abc", "d": [True, None]}) == {
        "a": "******", "b": 17, "c": "abc", "d": [True, None]}


def test_a_secret_at_the_end_of_a_cut_text() -> None:
    assert Redactor(["correct-horse"]).text("no such user: correct-ho...") == "no such user: ******..."


def test_a_secret_within_another() -> None:
    assert Redactor(["horse", "correct-horse-battery"]).text("correct-horse-battery") == "******"


def test_lines_of_a_secret() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\nAoIBAQC7VJTUt9Us8cKj\n-----END KEY-----"
    told = Redactor([key]).text("bad line 2: MIIEvQIBADANBgkqhkiG")
    assert told == "bad line 2: ******"


def test_what_is_inside_a_hidden_structure() -> None:
    redactor = Redactor([{"user": "root!", "words": ["open-sesame", 12345]}])
    assert redactor.value({"k": "say open-sesame", "n": 12345, "m": 1234}) == {"k": "******", "n": "******", "m": 1234}
    assert redactor.has_secret(["x", {"y": "root!"}])
    assert not redactor.has_secret(["x", {"y": "toor"}])


def test_no_secrets_change_nothing() -> None:
    data = {"a": [1, "x"]}
    assert Redactor([None, "", " ", True, {}, []]).value(data) is data
    assert not Redactor([None, ""])
