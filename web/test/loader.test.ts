import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { Loader } from "../src/view/loader.ts";

Object.assign(globalThis, { window: globalThis, requestAnimationFrame: () => 0 });

/** Run a loader whose reads take some time; return it, and when each of its reads began. */
async function slow(tookMs: number): Promise<[loader: Loader<number>, began: number[]]> {
  const began: number[] = [];
  const loader = new Loader<number>("a view", () => {
    began.push(Date.now());
    return new Promise((resolve) => setTimeout(() => resolve(1), tookMs));
  });
  void loader.load();
  await pass(tookMs);
  return [loader, began];
}

async function pass(ms: number): Promise<void> {
  mock.timers.tick(ms);
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
}

test("what takes long is read seldom, and at the end at once", async () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 0 });
  const [loader, began] = await slow(500);
  loader.seldom(1000);
  await pass(9000);
  assert.deepEqual(began, [0]);
  loader.soon(1000);
  await pass(1);
  assert.deepEqual(began, [0, 9501]);
  mock.timers.reset();
});

test("what is read fast is read as often as is asked for, and once for many", async () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 0 });
  const [loader, began] = await slow(10);
  loader.seldom(1000);
  loader.seldom(1000);
  loader.soon(3000);
  await pass(5000);
  assert.equal(began.length, 2);
  mock.timers.reset();
});
