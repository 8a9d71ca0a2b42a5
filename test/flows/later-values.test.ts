/**
 * Values that providers may add tomorrow, in every place where a wire lists values or kinds today. A provider
 * of the client's own protocol receives the client's bytes; another is not asked, or the client learns what
 * was lost.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { readCases } from '../support/cases.ts';
import { families, sendOwn } from '../support/families.ts';
import { buildPath } from '../support/four-wires.ts';
import { textProtocols } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { wires, type Wire } from '../support/replaying-vendor.ts';
import { chatReply, generateReply, messagesReply, responsesReply } from '../support/replies.ts';
import { tappedVendor } from '../support/tapped-vendor.ts';
import { acceptAnyKey } from '../support/test-provider.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The field that holds the new value, a body with it (without what every call needs), and what other
 * protocols receive where they can express it.
 */
type Later = readonly [field: string, body: Fields, said?: string];

const rows = readCases<Readonly<Record<Wire, readonly Later[]>>>('later-values.json', import.meta.url);
const answered: readonly Fields[] = [{ role: 'user', content: 'Hi' }];

/** What every call has as well. */
const least: Readonly<Record<Wire, Fields>> = {
  'chat-completions': { messages: answered },
  responses: { input: 'Hi' },
  messages: { max_tokens: 100, messages: answered },
  'generate-content': { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
};

const used = [12, 3] as const;
const replies: Readonly<Record<Wire, Fields>> = {
  'chat-completions': chatReply('Ahoy', {}, used),
  responses: responsesReply('Ahoy', {}, used),
  messages: messagesReply('Ahoy', {}, used),
  'generate-content': generateReply('Ahoy', {}, used),
};

const reasoning = {
  style: 'adaptive' as const,
  efforts: ['low', 'medium', 'high', 'ultra'],
  canDisable: true,
  budget: { min: 1024 },
};

let gateway: TestGateway;
let sent: string[] = [];

const houses = wires.map((wire) =>
  tappedVendor(
    `${wire}-house`,
    [wire],
    ({ body }) => {
      sent.push(String(body));
      return { body: JSON.stringify(replies[wire]) };
    },
    {
      id: `house/${wire}`,
      upstream: 'inner',
      contextLength: 200_000,
      outputLimit: 16_000,
      input: ['text', 'image', 'audio', 'video', 'pdf'],
      output: ['text', 'audio'],
      capabilities: {
        reasoning: { style: 'effort', efforts: ['low', 'medium', 'high'], canDisable: true },
        hosted: ['web-search', 'code-execution'],
        wire: { 'chat-completions': { extras: true } },
      },
    },
  ),
);
beforeAll(async () => {
  gateway = await startGateway({
    plugins: [acceptAnyKey(), ...textProtocols(), ...houses],
  });
});

interface Crossed {
  readonly status: number;
  readonly text: string;
  readonly asked: string;
  readonly sent: string | undefined;
  /** The fields that were reported as lost, or the one that the call was refused for. */
  readonly reported: readonly string[];
}

async function cross(client: Wire, to: Wire, body: Fields): Promise<Crossed> {
  sent = [];
  const model = `house/${to}`;
  const asked = JSON.stringify({
    ...(client === 'generate-content' ? {} : { model }),
    ...least[client],
    ...body,
  });
  const ended = gateway.ends.length;
  const response = await fetch(gateway.url + buildPath(client, model, false), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: asked,
  });
  const text = await response.text();
  const end = (await gateway.ended(ended + 1))[ended];
  const refused = end && 'error' in end ? end.error?.details.param : undefined;
  return {
    status: response.status,
    text,
    asked,
    sent: sent[0],
    reported: refused === undefined ? (end?.losses.map(({ path }) => path) ?? []) : [refused],
  };
}

/** Whether one path is part of the other, or of its parent. */
function concerns(path: string, field: string): boolean {
  const [short, long] = path.length < field.length ? [path, field] : [field, path];
  return long === short || long.startsWith(`${short}.`) || long.startsWith(`${short}[`);
}

function findValue(body: unknown, field: string): unknown {
  return field
    .split(/[.[\]]+/)
    .filter(Boolean)
    .reduce<unknown>(
      (value, name) => (typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined),
      body,
    );
}

/** Whether the other protocol has a place for all of a value. */
function carries(received: string, value: unknown): boolean {
  if (typeof value === 'object' && value !== null)
    return Object.values(value).length > 0 && Object.values(value).every((each) => carries(received, each));
  // Other protocols take base64 without its name.
  return typeof value === 'string' && (value === 'base64' || received.includes(value));
}

type Row = readonly [title: string, field: string, body: Fields, said: string | undefined];

const nameRows = (client: Wire): readonly Row[] =>
  rows[client].map(([field, body, said]) => [
    `${field} of ${JSON.stringify(body).slice(0, 120)}`,
    field,
    body,
    said,
  ]);

it('this file lists more than a hundred values', () => {
  expect(wires.flatMap((wire) => rows[wire]).length).toBeGreaterThan(100);
});

describe.each(wires)('a later value in %s', (client) => {
  it.each(nameRows(client))(
    'passes byte for byte to a provider of the same protocol: %s',
    async (_, _field, body) => {
      const crossed = await cross(client, client, body);
      expect([crossed.status, crossed.text]).toEqual([200, expect.stringContaining('Ahoy')]);
      expect(crossed.sent).toBe(crossed.asked.replace(`"house/${client}"`, '"inner"'));
      expect(crossed.reported).toEqual([]);
    },
  );

  it.each(nameRows(client))(
    'is restored where the gateway rewrites a request for a provider of the same protocol: %s',
    (_, _field, body) => {
      const { model } = families[client];
      const whole = {
        ...(client === 'generate-content' ? {} : { model: model.id }),
        ...least[client],
        ...body,
      };
      const sent = sendOwn(client, whole, {
        model: { ...model, capabilities: { ...model.capabilities, reasoning } },
      });
      expect(sent.body).toEqual({
        ...whole,
        ...(client === 'generate-content' ? {} : { model: model.upstream }),
      });
      expect(sent.lost).toEqual([]);
    },
  );

  it.each(nameRows(client))(
    'is reported as lost, or refused by its path, at a provider of another protocol: %s',
    async (_, field, body, said) => {
      for (const other of wires.filter((wire) => wire !== client)) {
        const { status, sent: received, reported: texts, text } = await cross(client, other, body);
        const isTold =
          texts.some((path) => concerns(path, field)) ||
          (received !== undefined && carries(received, said ?? findValue(body, field)));
        expect({ other, status, reported: texts, isTold, text }).toEqual({
          other,
          status: expect.toBeOneOf([200, 400]),
          reported: expect.anything(),
          isTold: true,
          text: expect.any(String),
        });
      }
    },
  );
});

it('a role that no other protocol knows is refused with a message that says where it is', async () => {
  const contents = [
    { role: 'assistant', parts: [{ text: 'x' }] },
    ...[least['generate-content'].contents].flat(),
  ];
  const { status, text } = await cross('generate-content', 'messages', { contents });
  expect([status, text]).toEqual([
    400,
    expect.stringContaining(String.raw`\"contents[0].role\" means nothing outside generate-content`),
  ]);
});
