/** Spans that an exporter receives from real calls. */
import { propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { opentelemetry } from '../../plugins/operations/opentelemetry.ts';
import { embeddings } from '../../plugins/protocols/embeddings/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { defineProvider } from '../../plugins/shared/kit.ts';
import { openHarness, type Harness } from '../support/harness.ts';

const exporter = new InMemorySpanExporter();
const secret = 'the moon is made of green cheese';
const body = { model: 'openai/gpt-4o-mini', max_tokens: 40, messages: [{ role: 'user', content: secret }] };

let harness: Harness;
beforeAll(async () => {
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  harness = await openHarness({ plugins: [opentelemetry()] });
});
afterAll(async () => {
  trace.disable();
  propagation.disable();
});
beforeEach(() => exporter.reset());

/** The spans of the one call that `call` makes: its own, and its attempts'. */
async function collectSpans(
  call: () => Promise<Response>,
): Promise<{ server: ReadableSpan; clients: ReadableSpan[] }> {
  const before = harness.gateway.ends.length;
  await (await call()).text();
  await harness.gateway.ended(before + 1);
  const spans = exporter.getFinishedSpans();
  const [server] = spans.filter(({ kind }) => kind === SpanKind.SERVER);
  if (!server) throw new Error('no span of a call');
  return { server, clients: spans.filter(({ kind }) => kind === SpanKind.CLIENT) };
}

describe('the trace of a call', () => {
  it("has a span of its own, and one below it for the attempt, with the conventions' names", async () => {
    const {
      server,
      clients: [client],
    } = await collectSpans(() => harness.post({ ...body, stream: true }));
    expect(server).toMatchObject({
      name: 'POST /v1/chat/completions',
      status: { code: SpanStatusCode.UNSET },
    });
    expect(server.attributes).toMatchObject({
      'http.response.status_code': 200,
      'tollgate.outcome': 'completed',
    });
    expect(client?.name).toBe('chat gpt-4o-mini');
    expect(client?.parentSpanContext?.spanId).toBe(server.spanContext().spanId);
    expect(client?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'openai/gpt-4o-mini',
      'gen_ai.request.stream': true,
      'gen_ai.request.max_tokens': 40,
      'gen_ai.response.model': 'gpt-4o-mini',
      'gen_ai.response.time_to_first_chunk': expect.any(Number),
      'gen_ai.usage.input_tokens': expect.any(Number),
      'gen_ai.usage.output_tokens': expect.any(Number),
    });
  });

  it("has the call's tags, and its session and end user by the conventions' names", async () => {
    const metadata = { job: 'nightly', session: 's-1' };
    const { server } = await collectSpans(() => harness.post({ ...body, metadata, user: 'ann' }));
    expect(server.attributes).toMatchObject({
      'gen_ai.conversation.id': 's-1',
      'enduser.id': 'ann',
      'tollgate.tags': ['user:ann', 'job:nightly', 'session:s-1'],
    });
    exporter.reset();
    expect((await collectSpans(() => harness.post(body))).server.attributes).not.toHaveProperty(
      'tollgate.tags',
    );
  });

  it.each([
    ['amazon-bedrock', 'aws.bedrock'],
    ['google-vertex', 'gcp.vertex_ai'],
    ['groq', 'groq'],
  ])('names the provider %s as the conventions do: %s', async (name, expected) => {
    const provider = defineProvider({
      name,
      env: { key: 'CLOUD_KEY', baseUrl: 'CLOUD_URL' },
      baseUrl: 'https://vendor.invalid',
      endpoints: { 'chat-completions': '/chat/completions' },
      models: new URL('../../plugins/providers/catalogue/openai.json', import.meta.url),
    });
    // The catalogue also has flags of these protocols, which the provider does not speak.
    const plugins = [opentelemetry(), responses(), embeddings()];
    const other = await openHarness({ plugins, provider });
    await (await other.post(body)).text();
    await other.close();
    const client = exporter.getFinishedSpans().find(({ kind }) => kind === SpanKind.CLIENT);
    expect(client?.attributes['gen_ai.provider.name']).toBe(expected);
  });

  it('lasts as long as the call, with the attempt inside it', async () => {
    const {
      server,
      clients: [client],
    } = await collectSpans(() => harness.post(body));
    const toMilliseconds = ([seconds, nanoseconds]: readonly [number, number]): number =>
      seconds * 1e3 + nanoseconds / 1e6;
    if (!client) throw new Error('no attempt');
    expect(toMilliseconds(client.startTime)).toBeGreaterThanOrEqual(toMilliseconds(server.startTime));
    expect(toMilliseconds(client.endTime)).toBeLessThanOrEqual(toMilliseconds(server.endTime));
  });

  it("continues the client's own trace", async () => {
    const { server } = await collectSpans(() =>
      harness.post(body, {
        headers: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
      }),
    );
    expect([server.spanContext().traceId, server.parentSpanContext?.spanId]).toEqual([
      '0af7651916cd43dd8448eb211c80319c',
      'b7ad6b7169203331',
    ]);
  });

  it('shows what failed, and no attempt if no provider was called', async () => {
    harness.vendor.script('gpt-4o-mini', { reply: { status: 500, body: '{}' } });
    const failed = await collectSpans(() => harness.post(body));
    harness.vendor.unscript();
    expect(failed.server.status.code).toBe(SpanStatusCode.ERROR);
    expect(failed.clients[0]?.attributes).toMatchObject({
      'error.type': 'upstream_failed',
      'http.response.status_code': 500,
    });
    exporter.reset();
    const refused = await collectSpans(() => harness.post({ ...body, model: 'no/such' }));
    expect([refused.clients, refused.server.attributes['error.type']]).toEqual([[], 'model_not_found']);
  });

  it('holds nothing of a prompt or a key', async () => {
    await collectSpans(() => harness.post(body));
    const message = JSON.stringify(
      exporter
        .getFinishedSpans()
        .map(({ name, attributes, status, events }) => ({ name, attributes, status, events })),
    );
    expect(message).not.toContain(secret);
    expect(message).not.toContain(harness.key);
  });
});
