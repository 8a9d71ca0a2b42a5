/**
 * How the gateway's OpenAPI description treats plugins it does not know: what they state, what they omit, and
 * what they fail at.
 */
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { definePlugin, type Plugin, type Route } from '../../core/index.ts';
import { basic } from '../../examples/auth.ts';
import { ask } from '../../examples/protocol.ts';
import { prices } from '../../examples/route.ts';
import { apiKeyHeader } from '../../plugins/auth/api-key-header.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { calls } from '../../plugins/operations/calls.ts';
import { openapi } from '../../plugins/operations/openapi.ts';
import { chatCompletions, protocol as chat } from '../../plugins/protocols/chat-completions/index.ts';
import { startGateway } from '../support/gateway.ts';

const operation = z.object({
  security: z.array(z.record(z.string(), z.unknown())),
  parameters: z.array(z.looseObject({})),
  requestBody: z.object({ content: z.record(z.string(), z.object({ schema: z.unknown() })) }).optional(),
  responses: z.record(
    z.string(),
    z.object({ content: z.record(z.string(), z.object({ schema: z.unknown() })).optional() }),
  ),
});
const documentSchema = z.object({
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({ securitySchemes: z.record(z.string(), z.unknown()) }),
});

interface Publication {
  readonly document: z.output<typeof documentSchema>;
  readonly valid: boolean;
  readonly log: readonly string[];
}

async function publishDocument(...plugins: readonly Plugin[]): Promise<Publication> {
  const gateway = await startGateway({ plugins: [openapi(), ...plugins] });
  const body: unknown = await (await fetch(`${gateway.url}/openapi.json`)).json();
  await gateway.close();
  return {
    document: documentSchema.parse(body),
    valid: (await new Validator().validate(JSON.parse(JSON.stringify(body)))).valid,
    log: gateway.log,
  };
}

/** A plugin with these routes, which answer nothing. */
function createPages(...routes: readonly Partial<Route>[]): Plugin {
  return definePlugin({
    name: 'pages',
    options: z.strictObject({}),
    apply(host) {
      for (const { name = 'page', method = 'GET', path = `/${name}`, describe: stated } of routes) {
        host.routes.add({
          name,
          method,
          path,
          access: 'public',
          encodeError: () => ({ status: 500, body: '' }),
          handle: async () => ({ status: 200, body: '' }),
          ...(stated ? { describe: stated } : {}),
        });
      }
    },
  })();
}

describe('third-party plugins', () => {
  it('appear as they describe themselves, or else with their path', async () => {
    const {
      document: { paths },
      valid,
    } = await publishDocument(
      ask(),
      prices(),
      createPages({ name: 'silent', method: 'DELETE', path: '/silent/:one' }),
    );
    expect(valid).toBe(true);
    expect(paths['/ask']?.post?.requestBody?.content['application/json']?.schema).toMatchObject({
      required: ['model', 'ask'],
      additionalProperties: false,
    });
    expect(paths['/prices.csv']?.get?.parameters).toMatchObject([
      { name: 'owner', in: 'query', required: false },
    ]);
    expect(paths['/silent/{one}']?.delete?.parameters).toMatchObject([
      { name: 'one', in: 'path', required: true },
    ]);
  });

  it('are described one per turn of the event loop, so that calls do not wait for all of them', async () => {
    let turn = 0;
    let counting = setImmediate(function count() {
      turn += 1;
      counting = setImmediate(count);
    });
    const turns: number[] = [];
    const routes = Array.from({ length: 20 }, (_, index) => ({
      name: `page-${index}`,
      describe: async () => (turns.push(turn), { summary: 'A page.', replies: {}, error: z.unknown() }),
    }));
    try {
      await publishDocument(createPages(...routes));
    } finally {
      clearImmediate(counting);
    }
    expect(turns).toHaveLength(routes.length);
    expect(new Set(turns).size).toBe(routes.length);
  });

  it('keep schemas of the same name apart', async () => {
    const buildRoute = (name: string, schema: z.ZodType): Partial<Route> => {
      const replies = { 200: { 'application/json': schema.meta({ title: 'Thing' }) } };
      return { name, describe: async () => ({ summary: name, replies, error: z.unknown() }) };
    };
    const {
      document: { paths },
    } = await publishDocument(createPages(buildRoute('one', z.string()), buildRoute('two', z.number())));
    const schemas = ['/one', '/two'].map(
      (path) => paths[path]?.get?.responses['200']?.content?.['application/json']?.schema,
    );
    expect(schemas).toEqual([{ $ref: '#/components/schemas/Thing' }, { type: 'number', title: 'Thing' }]);
  });

  it('list the credentials that they accept, whichever plugin reads them', async () => {
    const {
      document: { paths, components },
      valid,
    } = await publishDocument(
      ask(),
      chatCompletions(),
      calls(),
      bearer({ families: ['calls'] }),
      apiKeyHeader({ families: ['chat-completions'] }),
      basic(),
    );
    const listSecurity = (path: string, method: string): string[] =>
      paths[path]?.[method]?.security.flatMap((each) => Object.keys(each)) ?? [];
    expect(valid).toBe(true);
    expect(listSecurity('/v1/calls/{id}', 'get')).toEqual(['bearer', 'basic']);
    expect(listSecurity('/v1/chat/completions', 'post')).toEqual(['x-api-key', 'basic']);
    expect(listSecurity('/ask', 'post')).toEqual(['basic']);
    expect(components.securitySchemes).toEqual({
      bearer: { type: 'http', scheme: 'bearer' },
      'x-api-key': { type: 'apiKey', in: 'header', name: 'x-api-key' },
      basic: { type: 'http', scheme: 'basic' },
    });
  });

  it('are left out with a warning if they fail to describe themselves, and the others remain', async () => {
    const failToDescribe = (name: string): Promise<never> =>
      Promise.reject(new Error(`${name} is in no state to say`));
    const other = definePlugin({
      name: 'other',
      options: z.strictObject({}),
      apply: ({ protocols }) =>
        protocols.add({ ...chat, name: 'other', describeCalls: () => failToDescribe('other') }),
    });
    const {
      document: { paths },
      valid,
      log,
    } = await publishDocument(
      ask(),
      other(),
      createPages({ name: 'broken', describe: () => failToDescribe('broken') }, { name: 'fine' }),
    );
    expect(valid).toBe(true);
    expect(Object.keys(paths)).toEqual(expect.arrayContaining(['/ask', '/fine', '/healthz']));
    expect(Object.keys(paths)).not.toContain('/broken');
    for (const name of ['other', 'broken'])
      expect(log.filter((line) => line.includes(`${name} is in no state to say`))).toEqual([
        expect.stringContaining(`"described":"${name}"`),
      ]);
  });
});
