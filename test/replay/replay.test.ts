/**
 * Replays the recordings that lie beside this file, and holds that the replay notices each class of
 * difference.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compare } from './compare.ts';
import { findDeclaration, declared } from './declared.ts';
import { hear } from './heard.ts';
import { readRecordings } from './recordings.ts';
import { comparePieces, replayFolder, type Replay } from './replay.ts';
import { createReplyCheck, type ReplyCheck } from './reply-schemas.ts';
import { openStage, type Outcome, type Stage, type Trial } from './stage.ts';
import { buildTrials } from './trials.ts';

const folder = join(import.meta.dirname, 'recordings');

describe('our own recordings', () => {
  let replay: Replay;
  beforeAll(async () => void (replay = await replayFolder(folder)));

  it('cross every client with no difference that is not declared', () => {
    expect(replay.differences.filter((each) => !findDeclaration(each))).toEqual([]);
    expect(replay.recordings).toBeGreaterThan(20);
    expect(replay.trials).toBeGreaterThan(7 * (replay.recordings - 2));
  });

  it('are missed where a folder holds none', async () => {
    await expect(replayFolder(join(import.meta.dirname, '../package'))).rejects.toThrow('holds no recording');
  });
});

it('a declaration has a reason and covers no other class, protocol, client or detail', () => {
  for (const { reason } of declared) expect(reason.length).toBeGreaterThan(20);
  const one = {
    class: 'finish-differs',
    protocol: 'responses',
    client: 'messages',
    recording: 'a',
    detail: '"stop" became "filter"',
  } as const;
  expect(findDeclaration(one)).toBeDefined();
  expect(findDeclaration({ ...one, class: 'lost-text' })).toBeUndefined();
  expect(findDeclaration({ ...one, protocol: 'messages' })).toBeUndefined();
  expect(findDeclaration({ ...one, detail: '"tool" became "stop"' })).toBeUndefined();
});

describe('the replay notices', () => {
  let stage: Stage;
  let check: ReplyCheck;
  let trials: Trial[];
  const outcomes = new Map<Trial, Outcome>();
  beforeAll(async () => {
    trials = readRecordings(folder)
      .flatMap(buildTrials)
      .filter(({ inPieces }) => !inPieces);
    stage = await openStage(trials);
    check = await createReplyCheck(stage.url);
  });
  afterAll(() => stage.close());

  /** The classes of what is found where an outcome is changed like this. */
  async function findClasses(
    recording: string,
    client: string,
    change: (outcome: Outcome) => Partial<Outcome>,
  ): Promise<string[]> {
    const trial = trials.find((each) => each.recording.name === recording && each.client === client);
    if (!trial) throw new Error(`there is no trial of ${recording} through ${client}`);
    const outcome = outcomes.get(trial) ?? (await stage.perform(trial));
    outcomes.set(trial, outcome);
    const [before, after] = [
      compare(trial, outcome, check),
      compare(trial, { ...outcome, ...change(outcome) }, check),
    ];
    return after
      .filter((each) => !before.some(({ class: name }) => name === each.class))
      .map(({ class: name }) => name);
  }

  const replaceText =
    (from: string | RegExp, to: string) =>
    ({ text }: Outcome): Partial<Outcome> => {
      const changed = text.replace(from, to);
      if (changed === text) throw new Error(`the reply has no ${from}: ${text.slice(0, 2000)}`);
      return { text: changed };
    };

  it.each<[name: string, recording: string, client: string, change: (outcome: Outcome) => Partial<Outcome>]>([
    ['lost-text', 'chat-completions/text', 'messages', replaceText('Roter Sand', 'Roter')],
    ['lost-text', 'messages/tool-call-stream', 'chat-completions', replaceText('I look', 'I')],
    ['lost-text', 'responses/text-stream', 'generate-content', replaceText('Moin', 'Mo')],
    [
      'lost-reasoning',
      'chat-completions/reasoning-content',
      'generate-content',
      replaceText('Seven has', 'Seven'),
    ],
    [
      'lost-reasoning',
      'generate-content/thinking-stream',
      'responses',
      replaceText(/"delta":"Nine/g, '"delta":"Ten'),
    ],
    ['calls-differ', 'responses/parallel-tool-calls', 'chat-completions', replaceText('Husum', 'Sylt')],
    ['calls-differ', 'generate-content/partial-arguments-stream', 'messages', replaceText('Cux', 'Lux')],
    ['finish-differs', 'chat-completions/length', 'messages', replaceText('max_tokens', 'end_turn')],
    [
      'usage-differs',
      'messages/cached-text',
      'chat-completions',
      replaceText(/"prompt_tokens":\d+/, '"prompt_tokens":9'),
    ],
    [
      'schema-violation',
      'chat-completions/text',
      'responses',
      replaceText('"status":"completed"', '"status":"completed","object":5'),
    ],
    [
      'bytes-differ',
      'messages/thinking-stream',
      'messages',
      replaceText('signature_delta', 'signature-delta'),
    ],
    [
      'request-differs',
      'messages/cached-text',
      'messages',
      ({ received = '' }) => ({ received: received.replace('harbour', 'harbor') }),
    ],
    ['refused', 'chat-completions/text', 'messages', () => ({ status: 400, received: undefined })],
    ['failed', 'chat-completions/text', 'messages', () => ({ status: 502 })],
    ['status-differs', 'messages/error-404-model', 'responses', () => ({ status: 500 })],
    ['error-shape', 'messages/error-404-model', 'generate-content', replaceText('"status"', '"state"')],
    [
      'error-differs',
      'generate-content/error-400',
      'generate-content',
      replaceText('cannot be read', 'is bad'),
    ],
    [
      'billed-differs',
      'chat-completions/length',
      'chat-completions',
      ({ end }) => ({
        end: Object.assign(Object.create(end), {
          charge: { cost: 0n, uses: [], basis: 'none', suspect: false },
        }),
      }),
    ],
  ])('%s in %s through %s', async (name, recording, client, change) => {
    expect(await findClasses(recording, client, change)).toContain(name);
  });

  it('pieces-differ where the same reply in pieces gives other bytes', async () => {
    const trial = trials.find(
      ({ recording, client }) => recording.name === 'messages/refusal' && client === 'messages',
    );
    if (!trial) throw new Error('there is no such trial');
    const whole = await stage.perform(trial);
    expect(comparePieces(trial, whole, await stage.perform(trial))).toEqual([]);
    expect(comparePieces(trial, whole, { ...whole, text: `${whole.text} ` })).toMatchObject([
      { class: 'pieces-differ' },
    ]);
  });
});

it('the readers join the pieces of a call that comes in a stream', () => {
  const text = readFileSync(join(folder, 'chat-completions/parallel-tool-calls-stream.reply.sse'), 'utf8');
  expect(hear('chat-completions', text, true)).toMatchObject({
    calls: [
      { name: 'find_tides', arguments: { harbour: 'Cuxhaven' } },
      { name: 'find_tides', arguments: { harbour: 'Büsum' } },
    ],
    finish: 'tool',
    input: 58,
    output: 44,
    error: false,
  });
});

it('the readers see an error that ends a stream', () => {
  expect(
    hear(
      'messages',
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
      true,
    ).error,
  ).toBe(true);
});

describe('the command', () => {
  const places: string[] = [];
  afterAll(() => {
    for (const place of places) rmSync(place, { recursive: true, force: true });
  });

  async function run(files: Readonly<Record<string, string>>): Promise<{ code: unknown; output: string }> {
    const place = mkdtempSync(join(tmpdir(), 'tollgate-replay-'));
    places.push(place);
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(place, name)), { recursive: true });
      writeFileSync(join(place, name), text);
    }
    try {
      const { stdout } = await promisify(execFile)(process.execPath, [
        join(import.meta.dirname, 'run.ts'),
        place,
      ]);
      return { code: 0, output: stdout };
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && 'stdout' in error && 'stderr' in error)) throw error;
      return { code: error.code, output: `${String(error.stdout)}${String(error.stderr)}` };
    }
  }

  const meta = '{"status":200}';

  it('exits with 1 and names the class where a difference is not declared', async () => {
    const { code, output } = await run({
      'messages/broken.meta.json': meta,
      'messages/broken.reply.json': '{"type":"message"',
    });
    expect([code, output]).toEqual([
      1,
      expect.stringMatching(
        new RegExp(
          '^1 recordings, 8 calls, 0 declared differences, 8 undeclared\n' +
            ' {2}failed \\(8, undeclared\\)\n {4}messages/broken through messages: 502 ',
        ),
      ),
    ]);
  });

  it('exits with 0 where all is as recorded', async () => {
    const reply = readFileSync(join(folder, 'messages/refusal.reply.json'), 'utf8');
    expect(await run({ 'messages/refusal.meta.json': meta, 'messages/refusal.reply.json': reply })).toEqual({
      code: 0,
      output: '1 recordings, 8 calls, 0 declared differences, 0 undeclared\n',
    });
  });
});
