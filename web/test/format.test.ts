import assert from "node:assert/strict";
import test from "node:test";
import { ago, clip, count, cut, duration, mark, moment, plainReason, plural, seconds, shortType, size, value, webLink } from "../src/view/format.ts";

test("durations have at most two units", () => {
  assert.deepEqual([0, 0.05, 0.44, 1, 4.25, 48.9, 60, 112, 3600, 10_920, 86_400, 400_000].map(duration), [
    "0 s", "< 0.1 s", "0.4 s", "1 s", "4.3 s", "48 s", "1 m", "1 m 52 s", "1 h", "3 h 2 m", "1 day", "4 days",
  ]);
  assert.equal(duration(-5), "0 s");
});

test("past moments are said in one unit", () => {
  const now = 1_000_000;
  assert.deepEqual([1, 30, 700, 9000, 100_000, 400_000].map((s) => ago(now - s, now)), ["just now", "30 s ago", "11 m ago", "2 h ago", "yesterday", "4 days ago"]);
  assert.equal(ago(now + 50, now), "just now");
});

test("numbers have commas, nouns their plural", () => {
  assert.equal(count(1_000_000), "1,000,000");
  assert.equal(count(999), "999");
  assert.equal(plural(1, "resource"), "1 resource");
  assert.equal(plural(1200, "process", "processes"), "1,200 processes");
});

test("unseen and turning characters are shown as their numbers", () => {
  assert.equal(mark("a\u202eb\u0000c\u200b"), "a‹202E›b‹0000›c‹200B›");
  assert.equal(mark("line\n\ttab ümlaut 猫"), "line\n\ttab ümlaut 猫");
});

test("long texts are cut, and say so", () => {
  assert.equal(cut("x".repeat(1_000_000), 10), "xxxxxxxxxx… (999,990 more characters)");
  assert.equal(cut("short", 10), "short");
  assert.equal(clip("abcdef", 4), "abc…");
});

test("only web addresses become links", () => {
  assert.equal(webLink("https://example.org/a"), "https://example.org/a");
  for (const bad of ["javascript:alert(1)", " https://x", "data:text/html,x", "//example.org", 5, null, "https://" + "x".repeat(3000), "https://"]) {
    assert.equal(webLink(bad), null, String(bad).slice(0, 40));
  }
});

test("times of the API are read with and without a zone", () => {
  assert.equal(seconds("2026-01-01T00:00:00Z"), 1_767_225_600);
  assert.equal(seconds("2026-01-01T00:00:00"), 1_767_225_600);
  assert.equal(seconds(12.5), 12.5);
  assert.equal(seconds("nonsense"), null);
  assert.equal(seconds(null), null);
});

test("another day is named", () => {
  const at = new Date(2026, 0, 2, 3, 4, 5).getTime() / 1000;
  assert.equal(moment(at, at + 60), "03:04:05");
  assert.equal(moment(at, at + 86_400), "2026-01-02 03:04:05");
});

test("values and types are short", () => {
  assert.equal(value(undefined), "not set");
  assert.equal(value(""), '""');
  assert.equal(value({ a: [1] }), '{"a":[1]}');
  assert.equal(shortType("OS::Nova::Server"), "Nova::Server");
  assert.equal(shortType("OS::Heat::Dummy"), "Dummy");
  assert.equal(size(2048), "2.0 kB");
});

test("reasons do not repeat the resource that they stand beside", () => {
  assert.equal(plainReason("ValueError: resources.db: No quota: 8 asked"), "No quota: 8 asked");
  assert.equal(plainReason("Resource CREATE failed: ValueError: resources.a.resources.b: no"), "no");
  assert.equal(plainReason("No quota"), "No quota");
  assert.equal(plainReason("CREATE paused until Hook pre-create is cleared"), "CREATE paused until Hook pre-create is cleared");
  assert.equal(plainReason("resources.db: "), "resources.db: ");
});
