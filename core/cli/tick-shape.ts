/**
 * Keeps `process.nextTick` fast. V8 drops the shape of Node's tick objects when a full collection finds none
 * of them alive. From then on Node makes them slowly: a tick takes 1.2 to 1.7 µs instead of 0.2
 * (test/bench/ticks.ts), and a JSON call makes 17 of them. One tick object that stays alive keeps the shape.
 */
import { createHook } from 'node:async_hooks';

const kept: object[] = [];

/** Keeps one tick object until the process ends. */
export function keepTickShape(): void {
  const hook = createHook({
    init(_id, type, _trigger, resource) {
      if (type === 'TickObject') kept.push(resource);
    },
    trackPromises: false,
  }).enable();
  process.nextTick(() => undefined);
  hook.disable();
}
