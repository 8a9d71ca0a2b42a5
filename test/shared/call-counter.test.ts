import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { defineCallCounter, type CallCounter } from '../../plugins/shared/call-counter.ts';

function define(registry: Registry): CallCounter<'model' | 'code'> {
  return defineCallCounter(registry, 'calls_total', 'Calls.', ['model', 'code']);
}

async function listSamples(registry: Registry): Promise<string[]> {
  return (await registry.metrics()).split('\n').filter((line) => line.startsWith('calls_total'));
}

it('reports what was counted under each combination of labels', async () => {
  const registry = new Registry();
  const counter = define(registry);
  counter.count(['a', '200']);
  counter.count(['a', '499'], 0.5);
  counter.count(['b', '200'], 2);
  counter.count(['a', '200']);
  expect(await listSamples(registry)).toEqual([
    'calls_total{model="a",code="200"} 2',
    'calls_total{model="a",code="499"} 0.5',
    'calls_total{model="b",code="200"} 2',
  ]);
});

it('reports the same when it is read again, and adds to it', async () => {
  const registry = new Registry();
  const counter = define(registry);
  counter.count(['a', '200']);
  expect(await listSamples(registry)).toEqual(await listSamples(registry));
  counter.count(['a', '200']);
  expect(await listSamples(registry)).toEqual(['calls_total{model="a",code="200"} 2']);
});

it('keeps counting when it is defined again', async () => {
  const registry = new Registry();
  define(registry).count(['a', '200']);
  define(registry).count(['a', '200']);
  expect(await listSamples(registry)).toEqual(['calls_total{model="a",code="200"} 2']);
});
