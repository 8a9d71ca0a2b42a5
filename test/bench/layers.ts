/**
 * What a call costs, layer by layer: microseconds of the main thread and of all threads, and bytes
 * allocated, for JSON and streams, verbatim and translated. Each layer is a process of its own; the rounds
 * go through all of them in turn. V8 compiles each process in another way, so all are started several times:
 * a figure is the median of each process's lowest round. A row is what its layer adds to the one before.
 *
 * npm run bench:layers      LAYERS_PROCESSES=5 LAYERS_ROUNDS=3 LAYERS_CALLS=1000 LAYERS_CONNECTIONS=32
 *                           LAYERS=core,rest LAYERS_KINDS='JSON, verbatim;stream, verbatim'
 */
import { gateways, steps } from './layer-names.ts';
import { optimizing, startMeasured, type Measured, type Work } from './measured.ts';
import { calls, translations, type Call } from './payload.ts';
import { computeMedian } from './statistics.ts';
import { openWorld } from './world.ts';

const processes = Number(process.env.LAYERS_PROCESSES ?? 5);
const rounds = Number(process.env.LAYERS_ROUNDS ?? 3);
const count = Number(process.env.LAYERS_CALLS ?? 1000);
const connections = Number(process.env.LAYERS_CONNECTIONS ?? 32);
/** Rounds that do not count: V8 compiles what runs often, and again when calls of the next kind come. */
const warmUps = 2;
/** Streams are a hundred events long, so fewer of them say as much. */
const streamShare = 0.25;

const layers = (process.env.LAYERS ?? [...steps, ...Object.keys(gateways)].join(',')).split(',');
const allKinds: Readonly<Record<string, Call>> = {
  'JSON, verbatim': calls.json,
  'JSON, translated': translations.json,
  'stream, verbatim': calls.stream,
  'stream, translated': translations.stream,
};
const wantedKinds = process.env.LAYERS_KINDS?.split(';') ?? Object.keys(allKinds);
const kinds = Object.fromEntries(Object.entries(allKinds).filter(([name]) => wantedKinds.includes(name)));

function countCalls({ accept }: Call): number {
  return Math.ceil(accept === 'text/event-stream' ? count * streamShare : count);
}

/** By layer and kind of call, what each process measured at best. */
type Samples = Record<string, Record<string, Work[]>>;

function computeLowest(works: readonly Work[]): Work {
  const computeLeast = (figure: keyof Work): number => Math.min(...works.map((work) => work[figure]));
  return { time: computeLeast('time'), all: computeLeast('all'), bytes: computeLeast('bytes') };
}

async function measureAll(running: Readonly<Record<string, Measured>>, samples: Samples): Promise<void> {
  const measuredRounds: Samples = {};
  for (let round = -warmUps; round < rounds; round += 1)
    for (const [layer, measured] of Object.entries(running))
      for (const [kind, call] of Object.entries(kinds)) {
        const work = await measured.work(call, countCalls(call), connections);
        if (round >= 0) ((measuredRounds[layer] ??= {})[kind] ??= []).push(work);
      }
  for (const [layer, works] of Object.entries(measuredRounds))
    for (const [kind, all] of Object.entries(works))
      ((samples[layer] ??= {})[kind] ??= []).push(computeLowest(all));
}

function computeWorkMedian(works: readonly Work[] | undefined, figure: keyof Work): number {
  return computeMedian((works ?? []).map((work) => work[figure]));
}

function formatTable(samples: Samples): string {
  const names = Object.keys(kinds);
  const lines = [
    ['layer', ...names.flatMap((name) => [`${name}: µs`, 'all threads', 'kB'])],
    ['---', ...names.flatMap(() => ['---:', '---:', '---:'])],
  ];
  const computeFigures = (layer: string): number[] =>
    names.flatMap((name) => [
      computeWorkMedian(samples[layer]?.[name], 'time'),
      computeWorkMedian(samples[layer]?.[name], 'all'),
      computeWorkMedian(samples[layer]?.[name], 'bytes') / 1000,
    ]);
  for (const [index, layer] of layers.entries()) {
    const before = index === 0 ? undefined : computeFigures(layers[index - 1] ?? '');
    lines.push([
      `${before ? '+ ' : ''}${layer}`,
      ...computeFigures(layer).map((figure, column) => (figure - (before?.[column] ?? 0)).toFixed(1)),
    ]);
  }
  lines.push(['total', ...computeFigures(layers.at(-1) ?? '').map((figure) => figure.toFixed(1))]);
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const world = await openWorld();
const samples: Samples = {};
for (let started = 1; started <= processes; started += 1) {
  const running: Record<string, Measured> = {};
  try {
    for (const layer of layers) running[layer] = await startMeasured(layer, world.origin, optimizing);
    await measureAll(running, samples);
  } finally {
    for (const measured of Object.values(running)) measured.stop();
  }
  process.stderr.write(`${started} of ${processes} processes of each layer\n`);
}
process.stdout.write(`${formatTable(samples)}\n`);
world.close();
