import { z } from 'zod';
/**
 * What following calls live costs a gateway: processor time of one call's start and end with no client and
 * with one, round by round in turn, from calls that a real gateway made. The second figure is what 1000 calls
 * a second take of a core; compare the first with `npm run bench:layers`, which measures a whole call.
 *
 * node --conditions=tollgate-source test/bench/live.ts      LIVE_ROUNDS=15
 */
import { definePlugin, type Attempt, type End, type Routed } from '../../core/index.ts';
import { workers } from '../../core/process/worker-messages.ts';
import { LiveCalls } from '../../plugins/operations/calls/live.ts';
import { openHouse } from '../support/house.ts';
import { median } from './statistics.ts';

const rounds = Number(process.env.LIVE_ROUNDS ?? 15);
const perBatch = 250;
const batches = 8;
const starts: [Attempt, Routed][] = [];
const ends: End[] = [];
const taker = definePlugin({
  name: 'taker',
  options: z.strictObject({}),
  apply({ hooks }) {
    hooks.observe.tap('taker', (end) => void ends.push(end));
    hooks.attempt.tap('taker', (attempt, exchange) => {
      if (attempt.phase === 'start') starts.push([attempt, exchange]);
    });
  },
});

const house = await openHouse({ plugins: [taker()] });
for (let call = 0; call < 20; call += 1) {
  const response = await fetch(`${house.gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${house.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello!' }] }),
  });
  await response.arrayBuffer();
}
await house.gateway.ended(20);
await house.close();

/** Microseconds of processor time of a call: a second's worth, in batches as the gateway sends them. */
async function feed(live: LiveCalls): Promise<number> {
  const before = process.cpuUsage();
  for (let batch = 0; batch < batches; batch += 1) {
    for (let call = 0; call < perBatch; call += 1) {
      const [start, end] = [starts[call % starts.length], ends[call % ends.length]];
      if (start) live.started(...start);
      if (end) live.ended(end);
    }
    await new Promise((done) => setTimeout(done, 260));
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / (batches * perBatch);
}

const [unheard, heard] = [new LiveCalls(workers), new LiveCalls(workers)];
let bytes = 0;
heard.open().on('data', (piece: Buffer) => (bytes += piece.length));
await feed(heard);
const figures: { readonly without: number; readonly with: number }[] = [];
for (let round = 0; round < rounds; round += 1)
  figures.push({ without: await feed(unheard), with: await feed(heard) });
const added = median(figures.map((round) => round.with - round.without));
const shown = (bytes / ((rounds + 1) * batches * perBatch)).toFixed(0);
console.log(`one client adds ${added.toFixed(1)} µs of processor time to a call, and ${shown} bytes`);
console.log(`1000 calls a second: ${(added / 10).toFixed(2)} % of a core`);
heard.close();
unheard.close();
process.exit(0);
