/**
 * `GET /v1/calls/{id}`: the record of a call, for the keys of its holder. The id is the reply's
 * `x-request-id`. It lists every attempt and everything that was lost, which a header may have no room
 * for. The last calls are stored in memory, and for longer if there is an archive, such as the ledger;
 * prompts and replies are never stored. If several workers share the port, each stores its own calls and
 * asks the others for those it does not have.
 */
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import {
  definePlugin,
  GatewayError,
  toGatewayError,
  type Host,
  type Principal,
  type Route,
  type Workers,
} from '../../core/index.ts';
import { buildRecordText } from '../shared/calls/record.ts';
import { readShownRecord } from '../shared/calls/shown.ts';
import { encodeError } from '../shared/openai/errors.ts';
import { roles } from '../shared/operations.ts';
import { buildErrorReply, describeJson, noStore, operatorError } from '../shared/operator-routes.ts';
import { LiveCalls } from './calls/live.ts';

const options = z.strictObject({
  /** How many calls are remembered. */
  most: z.int().positive().default(10_000),
});

/** Characters a call may have on average. It keeps hostile calls with many losses from filling the memory. */
const usualLength = 4096;

const keptSchema = z.object({
  /** The key that made the call. */
  key: z.string(),
  /**
   * The record as JSON text: the garbage collector does not have to trace a string, but would trace ten
   * thousand objects.
   */
  body: z.string(),
});

type Kept = z.output<typeof keptSchema>;

interface Memory {
  readonly calls: LRUCache<string, Kept>;
  /** Stops serving these calls to other workers. */
  close(): void;
}

function createMemory(most: number, workers: Workers): Memory {
  const calls = new LRUCache<string, Kept>({
    max: most,
    maxSize: most * usualLength,
    sizeCalculation: ({ body }) => body.length,
  });
  return {
    calls,
    close: workers.answer('calls', (id) => (typeof id === 'string' ? calls.get(id) : undefined)),
  };
}

/** Looks in memory first, then asks the other workers, then the archive, which knows who holds which key. */
async function findCall(
  memory: Memory | undefined,
  id: string,
  { key, account, holder }: Principal,
  { workers, operations }: Host,
): Promise<Kept> {
  const kept: Kept | undefined =
    memory?.calls.get(id) ?? keptSchema.safeParse(await workers.askForFirstAnswer('calls', id)).data;
  if (kept?.key === key) return kept;
  if (!kept || holder !== undefined) {
    for (const archive of operations.archives.list()) {
      const found = await archive.find(id);
      const isHeld = holder !== undefined && found?.holder === holder && found.account === account;
      if (found && (found.key === key || isHeld)) return found;
    }
  }
  // A call of others gets the same reply as an unknown id, so that ids cannot be probed.
  throw new GatewayError('not_found', `No call "${id.slice(0, 100)}" of this key is remembered.`, {
    param: 'id',
  });
}

function buildLiveRoute(getLive: () => LiveCalls | undefined): Route {
  return {
    name: 'live calls',
    method: 'GET',
    path: '/admin/events',
    access: 'operator',
    roles: roles.read,
    encodeError: buildErrorReply,
    describe: async () => ({
      summary: 'Calls as they start and end, as server-sent events',
      details:
        'Events are named `start` and `end`; the data of each is a list of calls. ' +
        'A client that reads too slowly gets `dropped`.',
      roles: roles.read,
      replies: { 200: { 'text/event-stream': z.array(z.looseObject({ id: z.string() })) } },
      error: operatorError,
    }),
    async handle() {
      const live = getLive();
      if (!live) throw new GatewayError('not_found', 'The gateway is not ready yet.');
      return {
        status: 200,
        headers: { ...noStore, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' },
        body: live.open(),
      };
    },
  };
}

export const calls = definePlugin({
  name: 'calls',
  options,
  apply(host, { most }) {
    const { hooks, routes, openResource, workers } = host;
    let memory: Memory | undefined;
    let live: LiveCalls | undefined;
    hooks.ready.tapPromise('calls', async () => {
      live = new LiveCalls(workers);
      memory = await openResource(
        'calls',
        { most },
        () => createMemory(most, workers),
        ({ close }) => close(),
      );
    });
    hooks.observe.tap('calls', (end) => {
      const { id, principal } = end.exchange;
      live?.addEnd(end);
      if (principal) memory?.calls.set(id, { key: principal.key, body: buildRecordText(end) });
    });
    hooks.attempt.tap('calls', (attempt, exchange) => {
      if (attempt.phase === 'start' && attempt.number === 1) live?.addStart(attempt, exchange);
    });
    hooks.erase.tap('calls', ({ keys }) => {
      const gone = new Set(keys);
      for (const [id, { key }] of memory?.calls.entries() ?? []) if (gone.has(key)) memory?.calls.delete(id);
      return undefined;
    });
    hooks.close.tapPromise('calls', async () => live?.close());
    routes.add(buildLiveRoute(() => live));
    routes.add({
      name: 'calls',
      method: 'GET',
      path: '/v1/calls/:id',
      access: 'user',
      encodeError: (error) => encodeError(toGatewayError(error)),
      describe: async () => ({
        summary: 'What became of a call',
        details:
          'By the id its reply carried in `x-request-id`, for the key that made it and others of its holder.',
        replies: { 200: describeJson((await import('../shared/replies/calls.ts')).callRecord) },
        error: (await import('../shared/wire-kit/reply-schemas.ts')).errorSchema,
      }),
      handle: async ({ params: { id = '' } }, principal) => {
        const { body } = await findCall(memory, id, principal, host);
        return {
          status: 200,
          headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
          body: JSON.stringify(readShownRecord(body)),
        };
      },
    });
  },
});
