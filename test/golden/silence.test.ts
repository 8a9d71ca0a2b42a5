/**
 * Nothing of a request crosses in silence. Of every request fixture each member is taken away in turn:
 * another wire is then sent something else, or other losses are reported, unless the member was lost with
 * what it stands in. What makes no difference has to be listed here, with why it says nothing.
 */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { isGatewayError, type CanonicalRequest } from '../../core/index.ts';
import { toClientPath } from '../../core/loss.ts';
import { families, readCall, wires, type Wire } from '../support/families.ts';
import { listGolden, readGolden } from '../support/golden.ts';

/** Members, with their values as JSON, whose absence means the same. */
const sayNothing: Readonly<Record<'chat-completions' | 'messages', readonly RegExp[]>> = {
  'chat-completions': [
    // How the reply is sent, and where the call goes.
    /^(stream|stream_options|provider)\b/,
    // What is so anyway.
    /^(n=1|modalities=\["text"\]|logprobs=false|top_logprobs=0)$/,
    /^(parallel_tool_calls=true|tools=\[\]|tool_choice="none")$/,
    /^reasoning\.(exclude=false|enabled=true)$/,
    /^(tools\[\d+\]\.function|functions\[\d+\])\.parameters={"type":"object","properties":{}}$/,
    /^(tools\[\d+\]\.function|functions\[\d+\])\.parameters\.(type="object"|properties={})$/,
    /^messages\[\d+\]\.content=""$/,
    // Whatever names no type is of a function.
    /^(tools\[\d+\]|messages\[\d+\]\.tool_calls\[\d+\])\.type="function"$/,
    // A result named as its call is.
    /^messages\[3\]\.name="probe"$/,
    // Every schema is kept to on the wires that do not ask.
    /^response_format\.json_schema\.strict=true$/,
    // Reported with the field it belongs to.
    /^top_logprobs=/,
    // Numbers of thoughts, and their text once more.
    /^messages\[\d+\]\.(reasoning=|reasoning_details\[\d+\]\.(index|id)=)/,
  ],
  messages: [
    /^stream=/,
    /^(tools\[\d+\]\.type="custom"|tool_choice\.disable_parallel_tool_use=false)$/,
    // A tool of the vendor's is known by its type.
    /^tools\[\d+\]\.name="web_search"$/,
    // The model itself made the call, as on every other wire.
    /^messages\[\d+\]\.content\[\d+\]\.caller={"type":"direct"}$/,
    // Thoughts are asked for wherever they can be.
    /^thinking(={"type":"adaptive","display":"summarized"}|\.display="summarized")$/,
  ],
};

type Path = readonly (string | number)[];

function formatPath(path: Path): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .slice(1);
}

/** Every member of every object, at every depth, but for those that are null. */
function* listMembers(
  value: unknown,
  path: Path = [],
): Generator<{ readonly path: Path; readonly value: unknown }> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const place = [...path, Array.isArray(value) ? Number(key) : key];
    if (!Array.isArray(value) && inner !== null) yield { path: place, value: inner };
    yield* listMembers(inner, place);
  }
}

function omitMember(body: unknown, path: Path): unknown {
  const copy = structuredClone(body);
  const inner = path
    .slice(0, -1)
    .reduce<unknown>(
      (value, step) => (typeof value === 'object' && value !== null ? Reflect.get(value, step) : undefined),
      copy,
    );
  if (typeof inner === 'object' && inner !== null) Reflect.deleteProperty(inner, path.at(-1) ?? '');
  return copy;
}

interface Crossed {
  readonly lost: readonly string[];
  readonly sent: string;
}

function decodeBody(client: Wire, body: unknown): CanonicalRequest | undefined {
  try {
    return readCall(client, body).decode();
  } catch (thrown) {
    if (isGatewayError(thrown)) return undefined;
    throw thrown;
  }
}

/** What becomes of a body on another wire; undefined where it is refused, there or by its own protocol. */
function cross(client: Wire, wire: Wire, body: unknown): Crossed | undefined {
  const request = decodeBody(client, body);
  if (!request) return undefined;
  const { protocol, model } = families[wire];
  const { fieldNames } = families[client].protocol.client;
  try {
    const { body: sent, losses, stops } = protocol.upstream.encodeRequest(request, model, undefined);
    return {
      lost: losses.map(({ path }) => toClientPath(path, request, fieldNames)),
      sent: JSON.stringify([sent, stops ?? [], losses.map(({ reason }) => reason)]),
    };
  } catch (thrown) {
    if (isGatewayError(thrown)) return undefined;
    throw thrown;
  }
}

function findSilentMembers(client: 'chat-completions' | 'messages', wire: Wire, body: unknown): string[] {
  const whole = cross(client, wire, body);
  if (!whole) return [];
  return [...listMembers(body)].flatMap(({ path, value }) => {
    const name = formatPath(path);
    const isTold = whole.lost.some(
      (lost) => name === lost || name.startsWith(`${lost}.`) || name.startsWith(`${lost}[`),
    );
    const said = `${name}=${JSON.stringify(value)}`;
    if (isTold || sayNothing[client].some((pattern) => pattern.test(said))) return [];
    return isDeepStrictEqual(cross(client, wire, omitMember(body, path)), whole) ? [said] : [];
  });
}

describe.each(['chat-completions', 'messages'] as const)('of a request of %s', (client) => {
  const bodies = listGolden(client, 'request.json').map(
    (name) => [name, JSON.parse(readGolden(client, name, 'request.json'))] as const,
  );

  it.each(wires.filter((wire) => wire !== client))('nothing is lost in silence on %s', (wire) => {
    const silent = bodies.flatMap(([name, body]) =>
      findSilentMembers(client, wire, body).map((member) => `${name}: ${member}`),
    );
    expect(silent).toEqual([]);
  });
});
